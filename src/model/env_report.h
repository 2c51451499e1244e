// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// A package that computes on devices, as it answers inside an image.
struct EnvFramework {
  std::string name;                       // as it is imported
  std::string version = {};               // empty: it cannot be imported
  std::vector<std::string> devices = {};  // that it sees, as it calls them; processors are none
  std::string why = {};                   // it sees none, or cannot be imported, if it says so
  bool operator==(const EnvFramework&) const = default;
};

// What an environment finds on a machine.
struct EnvReport {
  std::string python;
  std::vector<EnvFramework> frameworks = {};  // those that are installed
  std::vector<std::string> nodes = {};        // "/dev/nvidia0": what not every container has
  bool operator==(const EnvReport&) const = default;
};

// Whether a device that was asked for, "nvidia.com/gpu", "example.com/fpga=0" or "/dev/fpga0", is
// there for all that would use it. A GPU is what each framework looks for; if none is installed,
// and for all other kinds, a node must be there.
bool SeesDevice(const EnvReport& report, std::string_view device);

}  // namespace tidemill
