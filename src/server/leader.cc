// SPDX-License-Identifier: Apache-2.0
#include "server/leader.h"

#include <utility>

namespace tidemill {

Leader::Leader(ServerDeps deps, LeaderOptions options)
    : deps_(deps), options_(std::move(options)), fleet_(deps, options_.list_limit) {}

Leader::~Leader() { deps_.loop.Cancel(timer_); }

// The earliest wish counts.
void Leader::Arm(Duration delay) {
  const TimePoint at = deps_.loop.Now() + delay;
  if (stopped_ || (timer_ != TimerId::kNone && armed_ <= at)) return;
  deps_.loop.Cancel(timer_);
  armed_ = at;
  timer_ = deps_.loop.After(delay, [this] {
    timer_ = TimerId::kNone;
    Begin();
  });
}

void Leader::Soon() {
  if (!leads()) return;
  if (running_) {
    again_ = true;
  } else {
    Arm(options_.soon);
  }
}

void Leader::Stop() {
  stopped_ = true;
  deps_.loop.Cancel(timer_);
  timer_ = TimerId::kNone;
  if (!std::exchange(epoch_, std::nullopt)) return;
  OnPlans(
      deps_, [name = options_.name](PlanStore& plans) { return plans.StepDown(name); },
      [](const Result<void>&) {});
}

void Leader::Begin() {
  if (stopped_) return;
  running_ = true;
  again_ = false;
  OnPlans(
      deps_,
      [name = options_.name, life = options_.life](PlanStore& plans) {
        return plans.Lead(name, life);
      },
      [this](const Result<std::optional<std::int64_t>>& epoch) {
        if (!epoch) return End(tl::unexpected(epoch.error()));
        if (*epoch && !epoch_) deps_.log.Info("leader.leads", {{"epoch", **epoch}});
        if (!*epoch && epoch_) deps_.log.Warn("leader.replaced", {{"epoch", *epoch_}});
        if (stopped_) return;
        epoch_ = *epoch;
        if (!epoch_) return End(Round{});
        fleet_.Look(pools_, [this](ProviderLook look) { RunWith(std::move(look)); });
      });
}

void Leader::RunWith(ProviderLook look) {
  if (stopped_ || !epoch_) return End(Round{});
  RoundNeeds needs{
      .epoch = *epoch_, .providers = {}, .look = std::move(look), .runs_since = runs_since_};
  for (const auto& [name, provider] : deps_.providers) needs.providers.insert(name);
  OnStore(
      deps_,
      [plans = deps_.plans, needs = std::move(needs)](Store& store) {
        return RunRound(store, *plans, needs);
      },
      [this](const Result<Round>& round) {
        if (round && !stopped_) {
          pools_ = round->pools;
          runs_since_ = round->runs_since;
          fleet_.Carry(pools_);
        }
        End(round);
      });
}

void Leader::End(const Result<Round>& round) {
  running_ = false;
  if (!round) {
    deps_.log.Warn("leader.failed", {{"reason", round.error().reason}});
    return Arm(options_.every);
  }
  const RoundNews& news = round->news;
  if (news.ordered + news.drained + news.ended > 0) {
    deps_.log.Info("leader.machines",
                   {{"ordered", news.ordered}, {"drained", news.drained}, {"ended", news.ended}});
  }
  if (again_) return Arm(options_.soon);
  Arm(round->idle ? options_.idle_every : options_.every);
}

}  // namespace tidemill
