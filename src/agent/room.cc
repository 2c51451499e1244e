// SPDX-License-Identifier: Apache-2.0
#include "agent/room.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace tidemill {
namespace {

// What a spec calls it; or its number among those of its kind.
std::vector<std::string> DeviceIdsOf(const std::vector<MachineDevice>& devices) {
  std::vector<std::string> ids;
  std::map<std::string_view, int> numbers;
  for (const MachineDevice& device : devices) {
    const int number = numbers[device.kind]++;
    std::string id = device.path.substr(device.path.find('=') + 1);
    // A longer name than may be asked for is a number too.
    ids.push_back(device.of_spec() && IsDeviceId(id) ? std::move(id) : std::to_string(number));
  }
  return ids;
}

bool Has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

Devices CountDevices(const std::vector<MachineDevice>& devices) {
  return CountDevices(devices, std::vector<bool>(devices.size(), true));
}

Devices CountDevices(const std::vector<MachineDevice>& devices, const std::vector<bool>& there) {
  Devices counts;
  for (const MachineDevice& device : devices) {
    const auto [found, is_first] = counts.try_emplace(device.kind);
    DeviceCount& kind = found->second;
    if (is_first) kind.model = device.model;
    if (kind.model != device.model) kind.model.clear();
    kind.memory = is_first ? device.memory : std::min(kind.memory, device.memory);
    kind.version = is_first ? device.version : std::min(kind.version, device.version);
  }
  const std::vector<std::string> all = DeviceIdsOf(devices);
  std::map<std::string_view, std::vector<std::string>> ids;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (there[i]) ids[devices[i].kind].push_back(all[i]);
  }
  for (auto& [kind, device] : counts) {
    device.count = static_cast<std::int32_t>(ids[kind].size());
    SetDeviceIds(device, std::move(ids[kind]));
  }
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
    : devices_(std::move(devices)),
      ids_(DeviceIdsOf(devices_)),
      taken_(devices_.size()),
      usable_(devices_.size(), true),
      free_(shape) {
  free_.devices[kWholeMachine] = 1;
  CountFree();
}

void Room::CountFree() {
  std::vector<bool> free(devices_.size());
  for (std::size_t i = 0; i < devices_.size(); ++i) free[i] = usable_[i] && !taken_[i];
  Devices counts = CountDevices(devices_, free);
  counts[kWholeMachine] = free_.devices.at(kWholeMachine);
  free_.devices = std::move(counts);
}

void Room::Use(const std::vector<bool>& usable) {
  TIDEMILL_CHECK(usable.size() == devices_.size());
  usable_ = usable;
  CountFree();
}

bool Room::Fits(const Resources& limits) const {
  if (WantsWholeMachine(limits) ? shares_ > 0 : free_.devices.at(kWholeMachine).count < 1)
    return false;
  return SlotsIn(free_, limits) >= 1;
}

std::optional<Room::Share> Room::Take(const Resources& limits) {
  if (!Fits(limits)) return std::nullopt;
  Share share{.limits = limits};
  for (const auto& [kind, asked] : limits.devices) {
    auto missing = kind == kWholeMachine ? 0 : asked.count;
    for (std::size_t i = 0; i < devices_.size() && missing > 0; ++i) {
      if (taken_[i] || !usable_[i] || devices_[i].kind != kind) continue;
      if (!asked.ids.empty() && !Has(asked.ids, ids_[i])) continue;
      taken_[i] = true;
      share.devices.push_back(i);
      --missing;
    }
  }
  Hold(share, 1);
  return share;
}

std::optional<Room::Share> Room::TakeThese(const Resources& limits,
                                           const std::vector<std::string>& paths) {
  Resources rest = limits;
  std::erase_if(rest.devices, [](const auto& kind) { return kind.first != kWholeMachine; });
  if (!Fits(rest)) return std::nullopt;
  Share share{.limits = limits};
  for (const std::string& path : paths) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (!taken_[i] && devices_[i].path == path) share.devices.push_back(i);
    }
  }
  if (share.devices.size() != paths.size()) return std::nullopt;
  for (const std::size_t i : share.devices) taken_[i] = true;
  Hold(share, 1);
  return share;
}

void Room::Return(const Share& share) {
  for (const std::size_t i : share.devices) taken_[i] = false;
  Hold(share, -1);
}

// Of the devices, those that are left are counted.
void Room::Hold(const Share& share, int shares) {
  tidemill::Take(free_, share.limits, shares);
  shares_ += shares;
  CountFree();
}

std::vector<MachineDevice> Room::DevicesOf(const Share& share) const {
  std::vector<MachineDevice> some;
  some.reserve(share.devices.size());
  for (const std::size_t i : share.devices) some.push_back(devices_[i]);
  return some;
}

}  // namespace tidemill
