// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/deps.h"
#include "model/job.h"

namespace tidemill {

// How many there are of each kind, what each of them is at least, and what they are called: a
// machine with several models of one kind says none.
Devices CountDevices(const std::vector<MachineDevice>& devices);
// The same, with the number and the names of those that are `there`, by their place in the list.
Devices CountDevices(const std::vector<MachineDevice>& devices, const std::vector<bool>& there);

// What a container for one item may use: what its job asks for, with the memory that its lease says
// if it says some; or all that the machine has.
Resources LimitsOf(const Resources& each, std::int64_t lease_memory, const Resources& shape);

// What a machine has, and which container holds what of it. No two hold the same, and one that has
// the whole machine is alone. A value.
class Room {
 public:
  // Held by a container for its life.
  struct Share {
    Resources limits{0, 0};
    std::vector<std::size_t> devices = {};  // by their place in the machine's list
  };

  Room(const Resources& shape, std::vector<MachineDevice> devices);

  // Nothing if it does not fit beside what is held already.
  std::optional<Share> Take(const Resources& limits);
  // With just the devices of these paths, whether they may be taken or not: they are held already.
  std::optional<Share> TakeThese(const Resources& limits, const std::vector<std::string>& paths);
  void Return(const Share& share);
  bool Fits(const Resources& limits) const;
  // By their place in the machine's list: whether each may be taken. Who holds one that may not any
  // more keeps it.
  void Use(const std::vector<bool>& usable);
  std::vector<MachineDevice> DevicesOf(const Share& share) const;

 private:
  void Hold(const Share& share, int shares);
  void CountFree();

  std::vector<MachineDevice> devices_;
  std::vector<std::string> ids_;  // of the devices
  std::vector<bool> taken_;       // of the devices
  std::vector<bool> usable_;      // of the devices
  Resources free_;
  int shares_ = 0;
};

}  // namespace tidemill
