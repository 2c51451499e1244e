// SPDX-License-Identifier: Apache-2.0
// How long items ran, as the servers are told.
#include <algorithm>
#include <utility>

#include "agent/agent.h"

namespace tidemill {

// Items of a batch share their container.
Duration Agent::ShareOf(const Attempt& attempt, Duration ran) const {
  const JobId job = attempt.chunk.job;
  const auto pace = paces_.find(job);
  if (pace == paces_.end() || !catalog_.JobOf(job).container.loop) return ran;
  const int slots = std::max(1, slots_.SlotsOf(Resolve({job, attempt.memory_bytes})));
  const double share = std::max(1.0, pace->second.together() / slots);
  return Duration(static_cast<std::int64_t>(static_cast<double>(ran.count()) / share));
}

// Of an attempt that ends and is its lease's still.
void Agent::Measure(const Attempt& attempt, const ItemEnd& end, StopWhy why) {
  const JobId job = attempt.chunk.job;
  const Verdict verdict = JudgeEnd(catalog_.JobOf(job).run, end, why);
  const bool tells = verdict.next == Verdict::Next::kTell;
  const bool is_well = tells && verdict.cause == Cause::kSucceeded;
  const bool is_free = !tells || (!is_well && BudgetOf(verdict.cause) == Budget::kNone);
  if (is_free) AddLost(attempt, end.duration);
  // What was stopped says nothing of how long items take.
  if (end.how == ItemEnd::How::kStopped || end.how == ItemEnd::How::kAmongOthers) return;
  paces_[job].Add(deps_.loop.Now(), end.duration);
  const Duration share = ShareOf(attempt, end.duration);
  RanItems& ran = ran_[job];
  ++ran.items;
  ran.us += share.count();
  const double seconds = std::chrono::duration<double>(share).count();
  if (is_well) ran.squares += seconds * seconds;
}

void Agent::AddLost(const Attempt& attempt, Duration ran) {
  if (ran <= Duration::zero()) return;  // it had not begun
  ran_[attempt.chunk.job].lost_us += ShareOf(attempt, ran).count();
}

std::vector<Measured> Agent::TakeMeasured() {
  std::vector<Measured> measured;
  for (const auto& [job, ran] : ran_) {
    measured.push_back({job, ran.items, ran.us / 1000, ran.squares, ran.lost_us / 1000});
  }
  told_ = std::exchange(ran_, {});
  return measured;
}

// It was not heard, or nobody knows whether it was.
void Agent::UntakeMeasured() {
  for (const auto& [job, told] : std::exchange(told_, {})) {
    RanItems& ran = ran_[job];
    ran.items += told.items;
    ran.us += told.us;
    ran.squares += told.squares;
    ran.lost_us += told.lost_us;
  }
}

}  // namespace tidemill
