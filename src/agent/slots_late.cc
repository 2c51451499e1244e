// SPDX-License-Identifier: Apache-2.0
// Runs that init should have ended long ago.
#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/slot.h"
#include "agent/slots.h"

namespace tidemill {
namespace {

// What one look counts at most: an agent that was asleep, with its machine or alone, has not read
// what init told meanwhile, and init's clock stands still while the machine sleeps.
constexpr Duration kStepMost = std::chrono::seconds(2);
constexpr int kKilled = 137;

}  // namespace

// Init tells at once of a run that was stopped before it began; so all that are stopped can be
// waited for, but for those behind another, whose ends come in their turn.
//
// A loop's run begins when its program takes it. Nobody but init knows when that is: it may be long
// after the run was given, while a model is loaded. So only those that were stopped are late.
//
// A run that was adopted has all its time once more: when it began is not known here.
Duration Slots::Slot::LatestEnd(const Given& given) const {
  const Duration margin = grace + slots.options_.limits.late_margin;
  if (given.stopped != StopWhy::kNone) return margin;
  return spec.loop || timeout <= Duration::zero() ? Duration::max() : timeout + margin;
}

bool Slots::Slot::IsLate(Duration passed) {
  bool late = false;
  for (Given& given : runs) {
    given.waited += passed;
    given.ran += passed;
    late |= given.waited > LatestEnd(given);
    if (!spec.loop) break;
  }
  return late;
}

std::vector<Slots::LateRun> Slots::Slot::LateRuns() const {
  std::vector<LateRun> ends;
  for (const Given& given : runs) {
    if (!given.ours) continue;
    const bool is_first = &given == &runs.front();
    const bool was_stopped = given.stopped != StopWhy::kNone;
    const bool had_begun = spec.loop ? was_stopped : is_first;
    LateRun& late = ends.emplace_back(LateRun{given.attempt, {.number = given.number}});
    late.why = was_stopped || had_begun ? given.stopped : StopWhy::kMoved;
    late.end.how = had_begun && !was_stopped ? ItemEnd::How::kTimedOut : ItemEnd::How::kStopped;
    if (!had_begun) continue;
    late.end.exit = kKilled;
    late.end.duration = given.ran;
  }
  return ends;
}

std::vector<Slots::LateRun> Slots::EndLate() {
  const TimePoint now = deps_.loop.Now();
  const Duration passed = std::min(now - std::exchange(looked_at_, now), kStepMost);
  std::vector<LateRun> ends;
  std::erase_if(slots_, [&](const auto& slot) {
    if (!slot->container || !slot->IsLate(passed)) return false;
    deps_.log.Warn("container.late", {{"job", slot->spec.job.number},
                                      {"runs", static_cast<std::int64_t>(slot->runs.size())}});
    for (LateRun& late : slot->LateRuns()) ends.push_back(std::move(late));
    return true;
  });
  return ends;
}

}  // namespace tidemill
