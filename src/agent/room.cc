// SPDX-License-Identifier: Apache-2.0
#include "agent/room.h"

#include <utility>

namespace tidemill {

Devices CountDevices(const std::vector<MachineDevice>& devices) {
  Devices counts;
  for (const MachineDevice& device : devices) ++counts[device.kind];
  return counts;
}

Resources LimitsOf(const Resources& each, std::int64_t lease_memory, const Resources& shape) {
  Resources limits = each;
  if (WantsWholeMachine(each)) {
    limits = shape;
    limits.devices[kWholeMachine] = 1;
  } else if (lease_memory > 0) {
    limits.memory_bytes = lease_memory;
  }
  return limits;
}

Room::Room(const Resources& shape, std::vector<MachineDevice> devices)
    : devices_(std::move(devices)), taken_(devices_.size()), free_(shape) {
  free_.devices = CountDevices(devices_);
  free_.devices[kWholeMachine] = 1;
}

bool Room::Fits(const Resources& limits) const {
  if (WantsWholeMachine(limits) ? shares_ > 0 : free_.devices.at(kWholeMachine) < 1) return false;
  return SlotsIn(free_, limits) >= 1;
}

std::optional<Room::Share> Room::Take(const Resources& limits) {
  if (!Fits(limits)) return std::nullopt;
  Share share{.limits = limits};
  for (const auto& [kind, count] : limits.devices) {
    auto missing = kind == kWholeMachine ? 0 : count;
    for (std::size_t i = 0; i < devices_.size() && missing > 0; ++i) {
      if (taken_[i] || devices_[i].kind != kind) continue;
      taken_[i] = true;
      share.devices.push_back(i);
      --missing;
    }
  }
  tidemill::Take(free_, limits);
  ++shares_;
  return share;
}

std::optional<Room::Share> Room::TakeThese(const Resources& limits,
                                           const std::vector<std::string>& paths) {
  if (!Fits(limits)) return std::nullopt;
  Share share{.limits = limits};
  for (const std::string& path : paths) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (!taken_[i] && devices_[i].path == path) share.devices.push_back(i);
    }
  }
  if (share.devices.size() != paths.size()) return std::nullopt;
  for (const std::size_t i : share.devices) taken_[i] = true;
  tidemill::Take(free_, limits);
  ++shares_;
  return share;
}

void Room::Return(const Share& share) {
  for (const std::size_t i : share.devices) taken_[i] = false;
  tidemill::Take(free_, share.limits, -1);
  --shares_;
}

std::vector<std::string> Room::PathsOf(const Share& share) const {
  std::vector<std::string> paths;
  paths.reserve(share.devices.size());
  for (const std::size_t i : share.devices) paths.push_back(devices_[i].path);
  return paths;
}

}  // namespace tidemill
