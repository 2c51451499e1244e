// SPDX-License-Identifier: Apache-2.0
#include "server/heard_times.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tidemill {
namespace {

constexpr Duration kTellEvery = std::chrono::seconds(1);
// The oldest are forgotten first: most of them are over.
constexpr std::size_t kJobsKept = 10'000;

}  // namespace

HeardTimesBook::HeardTimesBook(ServerDeps deps)
    : deps_(deps), server_(ToString(deps.random.NewId<SessionId>())) {}

HeardTimesBook::~HeardTimesBook() { deps_.loop.Cancel(timer_); }

void HeardTimesBook::Stop() { stopped_ = true; }

void HeardTimesBook::Add(const Measured& measured) {
  if (deps_.plans == nullptr) return;
  if (heard_.size() >= kJobsKept && !heard_.contains(measured.job)) {
    news_.erase(heard_.begin()->first);
    heard_.erase(heard_.begin());
  }
  HeardTimes& times = heard_[measured.job];
  times.job = measured.job;
  times.items += std::max<std::int64_t>(measured.items, 0);
  times.seconds += static_cast<double>(std::max<std::int64_t>(measured.run_ms, 0)) / 1000;
  times.squares += std::max(measured.squares, 0.0);
  times.lost_seconds += static_cast<double>(std::max<std::int64_t>(measured.lost_ms, 0)) / 1000;
  news_.insert(measured.job);
}

void HeardTimesBook::Tell() {
  if (stopped_) return;
  std::vector<HeardTimes> told;
  for (const JobId job : std::exchange(news_, {})) told.push_back(heard_.at(job));
  const auto again = [this] { timer_ = deps_.loop.After(kTellEvery, [this] { Tell(); }); };
  if (told.empty()) return again();
  OnPlans(
      deps_, [server = server_, told](PlanStore& plans) { return plans.HearTimes(server, told); },
      [this, told, again](const Result<void>& heard) {
        if (!heard) {
          for (const HeardTimes& times : told) news_.insert(times.job);
        }
        if (!stopped_) again();
      });
}

}  // namespace tidemill
