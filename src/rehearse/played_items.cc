// SPDX-License-Identifier: Apache-2.0
#include "rehearse/played_items.h"

#include <algorithm>
#include <utility>

#include "model/machine_name.h"

namespace tidemill {

std::int64_t SlotsOf(const Resources& shape, const Resources& each) {
  Resources whole = shape;
  whole.devices[kWholeMachine] = 1;
  return SlotsIn(whole, each);
}

PlayedItems::PlayedItems(const Rehearsal& rehearsal, std::function<TimePoint()> now)
    : rehearsal_(rehearsal),
      now_(std::move(now)),
      random_(rehearsal.seed, "failing"),
      ran_in_(static_cast<std::size_t>(rehearsal.items)) {
  for (const PlayedPool& pool : rehearsal.pools) {
    slots_.push_back(SlotsOf(pool.machines.shape, rehearsal.spec.resources));
  }
}

std::uint8_t PlayedItems::PoolOf(const std::string& machine) const {
  std::uint8_t number = 0;
  for (const PlayedPool& pool : rehearsal_.pools) {
    if (MachineNumber(pool.name, machine)) return number;
    ++number;
  }
  return 0;
}

PlayedItem PlayedItems::Begin(const std::string& machine, JobId, std::int64_t item) {
  PlayedItem played;
  played.run.takes = rehearsal_.lengths.Draw(rehearsal_.seed, item);
  if (rehearsal_.failing > 0) played.run.exit = random_.Chance(rehearsal_.failing) ? 1 : 0;
  busy_until_ = std::max(busy_until_, now_() + played.run.takes);
  ran_in_[static_cast<std::size_t>(item)] = PoolOf(machine);
  return played;
}

Duration PlayedItems::UseOf(std::int64_t item) const {
  const std::int64_t slots = slots_[ran_in_[static_cast<std::size_t>(item)]];
  return rehearsal_.lengths.Draw(rehearsal_.seed, item) / std::max<std::int64_t>(slots, 1);
}

}  // namespace tidemill
