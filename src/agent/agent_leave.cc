// SPDX-License-Identifier: Apache-2.0
// How an agent leaves: because it is told to, because its machine is taken away, or because no
// server wants it any more.
#include <algorithm>
#include <utility>

#include "agent/agent.h"

namespace tidemill {

bool Agent::IsBusy() const { return slots_.busy() || !storing_.empty() || !ending_.empty(); }

void Agent::Leave(std::function<void()> done) {
  left_ = std::move(done);
  EndAll(TimesToLeave(options_.limits));
}

void Agent::OnNotice(const Notice& notice) {
  if (leaving_) return;
  const TimePoint now = deps_.loop.Now();
  const LeavePlan plan = PlanLeave(notice, now, options_.limits);
  const bool has_end = plan.stop_at != TimePoint::max();
  const Duration left = has_end ? std::max(plan.stop_at - now, Duration::zero()) : Duration::zero();
  deps_.log.Warn("agent.notice",
                 {{"kind", NameOf(notice.kind)},
                  {"items_may_run_ms", has_end ? left.count() / 1000 : std::int64_t{-1}}});
  closing_ = true;
  slots_.StopWaiting(StopWhy::kInterrupted);
  status_at_ = TimePoint::min();  // the servers hear it at once
  // Neither the gap between syncs nor a failure before holds up what others could run by now.
  not_before_ = TimePoint{};
  if (plan.stop_at < stop_at_) {
    stop_at_ = plan.stop_at;
    if (left <= Duration::zero()) return EndAll(plan.times);
    deps_.loop.After(left, InThisSession([this, times = plan.times] {
                       if (!leaving_) EndAll(times);
                     }));
  }
  Ebb();
  Consider();
}

// Before it is known what of an earlier life still runs, that would go back too.
void Agent::GiveTailBack() {
  if (!slots_.started() || slots_.has_left()) return;
  const bool has_some = std::any_of(
      work_.loads().begin(), work_.loads().end(),
      [&](const auto& one) { return one.second.waiting > 0 || staged_.CountOf(one.first) > 0; });
  if (!has_some) return;
  GiveAllBack();
  sent_at_ = TimePoint{};  // a sync is due at once
}

void Agent::Ebb() {
  if (!joined_ || goodbye_) return;
  if (heard_in_session_ && !leaving_) AdoptFound();
  GiveTailBack();
  if (leaving_ || IsBusy() || slots_.has_left()) return;
  EndAll(TimesToLeave(options_.limits));
}

void Agent::EndAll(const LeaveTimes& times) {
  leaving_ = true;
  say_time_ = times.say;
  if (!joined_) {
    slots_.CloseAll();
    return Left();
  }
  slots_.StopIf(StopWhy::kInterrupted, [](const ItemKey&) { return true; });
  // Without time for anything else all is said with one sync.
  const bool has_time = times.grace + times.save > Duration::zero();
  if (!IsBusy() || !has_time) return SayGoodbye();
  const auto say_goodbye = InThisSession([this] { SayGoodbye(); });
  deps_.loop.After(times.grace, InThisSession([this, say_goodbye, save = times.save]() mutable {
                     if (ending_.empty()) return SayGoodbye();
                     deps_.loop.After(save, say_goodbye);
                   }));
  GiveTailBack();
  Consider();
}

void Agent::SayGoodbye() {
  if (std::exchange(goodbye_, true)) return;
  for (const auto& [attempt, ran] : slots_.CloseAll()) {
    if (!work_.Runs(attempt.key)) continue;
    AddLost(attempt, ran);
    Finish(attempt, {.exit = 137}, Cause::kInterrupted, EndLog(attempt));
  }
  for (const auto& [key, storing] : std::exchange(storing_, {})) {
    if (work_.Runs(key)) Finish(storing.attempt, storing.end, Cause::kInterrupted, "");
  }
  for (const auto& [place, ending] : std::exchange(ending_, {})) EndWith(ending);
  GiveAllBack();
  deps_.loop.After(say_time_, InThisSession([this] { Left(); }));
  Consider();
}

void Agent::Left() {
  leaving_ = true;
  deps_.memory.Keep({});
  ++session_count_;  // nothing that is under way counts any more
  joined_ = false;
  left_();
}

void Agent::GiveUpIfDue() {
  if (leaving_ || options_.give_up <= Duration::zero()) return;
  if (deps_.loop.Now() - served_at_ < options_.give_up) return;
  deps_.log.Error("agent.gave_up",
                  {{"reason", "no server has taken it for " +
                                  std::to_string(options_.give_up.count() / 1'000'000) + " s"}});
  why_ended_ = AgentEnd::kGaveUp;
  EndAll(TimesToLeave(options_.limits));
}

}  // namespace tidemill
