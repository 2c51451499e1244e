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

// How many there are of each kind.
Devices CountDevices(const std::vector<MachineDevice>& devices);

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
  // With just the devices of these paths.
  std::optional<Share> TakeThese(const Resources& limits, const std::vector<std::string>& paths);
  void Return(const Share& share);
  bool Fits(const Resources& limits) const;
  std::vector<std::string> PathsOf(const Share& share) const;

 private:
  std::vector<MachineDevice> devices_;
  std::vector<bool> taken_;  // of the devices
  Resources free_;
  int shares_ = 0;
};

}  // namespace tidemill
