// SPDX-License-Identifier: Apache-2.0
#include "server/notify/news.h"

#include <algorithm>
#include <utility>

#include "plan/words.h"
#include "wire/notify_json.h"

namespace tidemill {
namespace {

// Each is counted; one transaction each.
constexpr int kJobsAtOnce = 32;

Result<std::optional<Money>> SpentOn(PlanStore* plans, JobId job) {
  if (plans == nullptr) return std::optional<Money>();
  TIDEMILL_TRY(const std::vector<JobMoney> money, plans->ReadMoney({job}));
  std::optional<Money> spent;
  for (const JobMoney& one : money) {
    for (const Entry& entry : one.entries) spent = spent.value_or(Money{}) + entry.amount;
  }
  return spent;
}

std::vector<NewNotification> NewsOf(const NewsDeps& deps, JobNews news) {
  std::vector<NewNotification> made;
  // A spec was read when the job was made: what cannot be read now is a newer server's.
  const auto targets = ParseNotify(news.job.job.spec.document);
  if (!targets) return made;
  for (const NotifyTarget& target : *targets) {
    if (std::find(target.on.begin(), target.on.end(), news.event) == target.on.end()) continue;
    news.id = deps.new_id();
    made.push_back({news.id, news.event, target.url, target.secret, FormatJobNews(news)});
  }
  return made;
}

Result<void> TellState(const NewsDeps& deps, JobId job) {
  TIDEMILL_TRY(const JobCounts counts, deps.store.CountItems(job));
  std::vector<NewNotification> made;
  if (const auto event = EventOf(counts)) {
    TIDEMILL_TRY(const std::optional<Money> spent, SpentOn(deps.plans, job));
    made = NewsOf(deps,
                  {.event = *event, .id = {}, .job = counts, .spent = spent, .at_ms = deps.now_ms});
  }
  TIDEMILL_TRY_VOID(deps.notify.Tell(counts.job, made));
  return {};
}

Result<void> TellBudget(const NewsDeps& deps, JobId job) {
  TIDEMILL_TRY(JobCounts counts, deps.store.CountItems(job));
  if (!counts.job.spec.wishes.budget) return {};
  TIDEMILL_TRY(const std::optional<Money> spent, SpentOn(deps.plans, job));
  counts.job.reason = "its budget of " + InWords(*counts.job.spec.wishes.budget) +
                      " is used up: " + InWords(spent.value_or(Money{})) +
                      " are spent, and the rest does not pay for one more item";
  TIDEMILL_TRY_VOID(deps.notify.TellBudget(counts.job, NewsOf(deps, {.event = JobEvent::kBudget,
                                                                     .id = {},
                                                                     .job = counts,
                                                                     .spent = spent,
                                                                     .at_ms = deps.now_ms})));
  return {};
}

}  // namespace

Result<JobId> TellStates(const NewsDeps& deps, JobId after) {
  TIDEMILL_TRY(const std::vector<Job> untold, deps.notify.ListUntold(after, kJobsAtOnce));
  for (const Job& job : untold) TIDEMILL_TRY_VOID(TellState(deps, job.id));
  return static_cast<int>(untold.size()) == kJobsAtOnce ? untold.back().id : JobId{};
}

Result<void> TellBudgets(const NewsDeps& deps, const std::vector<JobId>& jobs) {
  for (const JobId job : jobs) TIDEMILL_TRY_VOID(TellBudget(deps, job));
  return {};
}

}  // namespace tidemill
