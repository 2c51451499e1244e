// SPDX-License-Identifier: Apache-2.0
// Containers that an earlier life of the agent has left running.
#include <algorithm>
#include <utility>

#include "agent/slot.h"
#include "agent/slots.h"

namespace tidemill {

// One that has no room any more ends: the machine has become smaller.
void Slots::Keep(const FoundContainer& found) {
  for (const FoundContainer::Run& run : found.runs) last_run_ = std::max(last_run_, run.number);
  std::optional<Room::Share> share = room_.TakeThese(found.spec.limits, found.spec.devices);
  if (!share) return;
  auto slot = std::make_unique<Slot>(*this, Wish{found.spec, false, {}}, *std::move(share));
  slot->left = found;
  slot->asked_at = deps_.loop.Now();
  slots_.push_back(std::move(slot));
}

void Slots::Adopt(const Adoption& adoption) {
  std::erase_if(slots_, [&](const auto& slot) {
    if (!slot->left) return false;
    const Found found = adoption.decide(slot->spec.job);
    if (found == Found::kWait) return false;
    return found == Found::kEnd || !AdoptOne(*slot, adoption);
  });
}

bool Slots::AdoptOne(Slot& slot, const Adoption& adoption) {
  bool any = false;
  for (const FoundContainer::Run& run : slot.left->runs) {
    const std::optional<Attempt> attempt = adoption.resume(run.tag);
    any |= attempt.has_value();
    const StopWhy stopped = attempt ? StopWhy::kNone : StopWhy::kLeaseGone;
    slot.runs.push_back({run.number, attempt.value_or(Attempt()), stopped, attempt.has_value()});
    slot.runs.back().attempt.devices = slot.devices;
  }
  if (!any) return false;
  std::sort(slot.runs.begin(), slot.runs.end(),
            [](const Slot::Given& a, const Slot::Given& b) { return a.number < b.number; });
  const Wish wish = adoption.make(slot.need());
  slot.once = wish.once;
  slot.timeout = wish.timeout;
  slot.grace = wish.grace;
  slot.secrets = wish.secrets;
  slot.keeps = wish.keeps;
  slot.used = true;
  slot.idle_since = slot.measured_at = deps_.loop.Now();
  const FoundContainer found = *std::exchange(slot.left, std::nullopt);
  slot.container = found.adopt(slot);
  TellRole(slot);
  deps_.log.Info("container.adopted", {{"job", slot.spec.job.number},
                                       {"runs", static_cast<std::int64_t>(slot.runs.size())}});
  for (const Slot::Given& given : slot.runs) {
    if (given.stopped != StopWhy::kNone) slot.container->Stop(given.number);
  }
  return true;
}

bool Slots::has_left() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const auto& slot) { return slot->left.has_value(); });
}

std::set<DataPlace> Slots::DataPlaces() const {
  std::set<DataPlace> places;
  for (const auto& slot : slots_) {
    for (const Slot::Given& given : slot->runs) places.insert(given.attempt.place());
  }
  return places;
}

}  // namespace tidemill
