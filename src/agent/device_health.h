// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent/deps.h"
#include "model/job.h"

namespace tidemill {

// Which of a machine's devices are given to items: not one that does not work, nor one that its
// engine cannot give. One that works again is given again. A value.
class DeviceHealth {
 public:
  explicit DeviceHealth(std::vector<MachineDevice> devices);

  // What a look, or the engine, says of each, in their order; empty: it is well. True: something is
  // told otherwise than before.
  bool OnLooked(std::vector<std::string> troubles);
  bool OnEngine(std::vector<std::string> troubles);

  const std::vector<MachineDevice>& devices() const { return devices_; }
  // In their order.
  std::vector<bool> Usable() const;
  // Those that are usable. A kind of which none is stays, with none.
  Devices Count() const;
  // What is wrong with this one; empty: nothing.
  const std::string& TroubleOf(std::size_t device) const;
  // For people: which are left out, and why; empty: none is.
  std::string Text() const;

 private:
  std::vector<MachineDevice> devices_;
  std::vector<std::string> looked_;
  std::vector<std::string> engine_;
};

}  // namespace tidemill
