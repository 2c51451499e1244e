// SPDX-License-Identifier: Apache-2.0
#include "server/notify/notifier.h"

#include <algorithm>
#include <utility>

#include "plan/standstill.h"
#include "server/notify/delivery.h"
#include "server/secrets.h"

namespace tidemill {
namespace {

// Jobs whose budget is looked at in one go, each with its spec; the next look is at those after
// them.
constexpr int kBudgetsAtOnce = 100;

std::vector<JobId> OutOfBudget(const Decided& decided, const std::vector<Job>& jobs) {
  std::vector<JobId> out;
  for (const Job& job : jobs) {
    const auto found = decided.index.FindJob(job.id);
    if (found && IsOutOfBudget(decided.index, *found)) out.push_back(job.id);
  }
  return out;
}

}  // namespace

Notifier::Notifier(ServerDeps deps, NotifyStore& notify, Send send, Options options)
    : deps_(deps),
      notify_(notify),
      send_(std::move(send)),
      options_(std::move(options)),
      outlook_(deps) {}

Notifier::~Notifier() {
  for (const TimerId timer : timers_) deps_.loop.Cancel(timer);
}

void Notifier::Start() {
  After(Duration::zero(), &Notifier::Tell);
  After(Duration::zero(), &Notifier::Deliver);
  if (deps_.plans != nullptr) After(options_.budgets_every, &Notifier::LookAtBudgets);
}

void Notifier::After(Duration delay, Step step) {
  if (stopped_) return;
  auto timer = std::make_shared<TimerId>();
  *timer = deps_.loop.After(delay, [this, timer, step] {
    timers_.erase(*timer);
    if (!stopped_) (this->*step)();
  });
  timers_.insert(*timer);
}

NewsDeps Notifier::News() {
  return {deps_.store, deps_.plans, notify_,
          [&random = deps_.random] { return random.NewId<NotificationId>(); }, options_.wall_ms()};
}

void Notifier::Tell() {
  OnStore(
      deps_, [news = News(), after = told_](Store&) { return TellStates(news, after); },
      [this, alive = std::weak_ptr<char>(alive_)](const Result<JobId>& last) {
        if (alive.expired()) return;
        if (!last) Warn("notify.not_told", last.error());
        told_ = last ? *last : JobId{};
        After(told_.number != 0 ? Duration::zero() : options_.every, &Notifier::Tell);
      });
}

void Notifier::LookAtBudgets() {
  OnStore(
      deps_,
      [&notify = notify_, after = watched_](Store&) {
        return notify.ListBudgets(after, kBudgetsAtOnce);
      },
      [this, alive = std::weak_ptr<char>(alive_)](const Result<std::vector<Job>>& jobs) {
        if (alive.expired()) return;
        if (!jobs) Warn("notify.not_told", jobs.error());
        const bool is_full = jobs && static_cast<int>(jobs->size()) == kBudgetsAtOnce;
        watched_ = is_full ? jobs->back().id : JobId{};
        if (jobs && !jobs->empty()) return AskOutlook(*jobs);
        After(options_.budgets_every, &Notifier::LookAtBudgets);
      });
}

// All projects in one look, which the outlook keeps for a second.
void Notifier::AskOutlook(const std::vector<Job>& jobs) {
  std::map<std::string, std::vector<Job>> by_project;
  for (const Job& job : jobs) by_project[job.project].push_back(job);
  for (const auto& [project, of_it] : by_project) {
    outlook_.Ask(project, [this, of_it, alive = std::weak_ptr<char>(alive_)](
                              const Result<std::shared_ptr<const Decided>>& decided) {
      if (alive.expired() || !decided) return;  // looked at again in some seconds
      std::vector<JobId> out = OutOfBudget(**decided, of_it);
      if (out.empty()) return;
      OnStore(
          deps_, [news = News(), out = std::move(out)](Store&) { return TellBudgets(news, out); },
          [this, alive](const Result<void>& told) {
            if (!alive.expired() && !told) Warn("notify.not_told", told.error());
          });
    });
  }
  After(options_.budgets_every, &Notifier::LookAtBudgets);
}

void Notifier::Deliver() {
  DueFilter filter{.limit = options_.at_once - under_way_,
                   .each = options_.each,
                   .but = {},
                   .hold = options_.hold};
  for (const auto& [project, count] : of_project_) {
    if (count >= options_.each) filter.but.push_back(project);
  }
  if (filter.limit <= 0) return After(options_.every, &Notifier::Deliver);
  OnStore(
      deps_, [&notify = notify_, filter](Store&) { return notify.TakeDue(filter); },
      [this, alive = std::weak_ptr<char>(alive_)](const Result<std::vector<DueNotification>>& due) {
        if (alive.expired()) return;
        if (!due) Warn("notify.not_taken", due.error());
        if (due && !stopped_) {
          for (const DueNotification& one : *due) Begin(one);
        }
        const bool may_be_more = due && !due->empty();
        After(may_be_more ? Duration::zero() : options_.every, &Notifier::Deliver);
      });
}

void Notifier::Begin(const DueNotification& due) {
  ++under_way_;
  ++of_project_[due.project];
  if (due.secret.empty()) return Call(due, std::nullopt);
  if (options_.keys == nullptr) return End(due, NoSecretKeys());
  OnStore(
      deps_,
      [&access = deps_.access, keys = options_.keys, due](Store&) -> Result<std::string> {
        TIDEMILL_TRY(Secrets secrets, OpenSecrets(access, *keys, due.project, {due.secret}));
        return std::move(secrets[due.secret]);
      },
      [this, due, alive = std::weak_ptr<char>(alive_)](const Result<std::string>& secret) {
        if (alive.expired()) return;
        if (!secret) return End(due, tl::unexpected(secret.error()));
        Call(due, *secret);
      });
}

void Notifier::Call(const DueNotification& due, const std::optional<std::string>& secret) {
  const auto url = ParseNotifyUrl(due.url);
  if (!url) return End(due, tl::unexpected(url.error()));
  constexpr std::int64_t kSecond = 1000;
  send_(*url, CallOf(due, url->target, secret, options_.wall_ms() / kSecond),
        [this, due, alive = std::weak_ptr<char>(alive_)](const Result<HttpResponse>& answer) {
          if (!alive.expired()) End(due, answer);
        });
}

void Notifier::End(const DueNotification& due, const Result<HttpResponse>& answer) {
  const TryEnd end = EndOf(due, answer);
  // Not the URL: it may be a secret itself.
  if (end.state == NotificationState::kGivenUp) {
    deps_.log.Warn("notify.given_up",
                   {{"id", ToString(due.id)}, {"job", due.job.number}, {"reason", end.error}});
  }
  OnStore(
      deps_,
      [&notify = notify_, id = due.id, tries = due.tries, end](Store&) {
        return notify.EndTry(id, tries, end);
      },
      [this, project = due.project, alive = std::weak_ptr<char>(alive_)](const Result<void>& said) {
        if (alive.expired()) return;
        if (!said) Warn("notify.not_marked", said.error());
        --under_way_;
        if (--of_project_[project] == 0) of_project_.erase(project);
      });
}

void Notifier::Warn(const char* what, const Error& error) {
  deps_.log.Warn(what, {{"reason", error.reason}});
}

}  // namespace tidemill
