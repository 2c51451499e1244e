// SPDX-License-Identifier: Apache-2.0
#include "agent/device_health.h"

#include <utility>

#include "agent/room.h"
#include "base/check.h"

namespace tidemill {

DeviceHealth::DeviceHealth(std::vector<MachineDevice> devices)
    : devices_(std::move(devices)), looked_(devices_.size()), engine_(devices_.size()) {}

bool DeviceHealth::OnLooked(std::vector<std::string> troubles) {
  TIDEMILL_CHECK(troubles.size() == devices_.size());
  const std::string before = Text();
  looked_ = std::move(troubles);
  return Text() != before;
}

bool DeviceHealth::OnEngine(std::vector<std::string> troubles) {
  TIDEMILL_CHECK(troubles.size() == devices_.size());
  const std::string before = Text();
  engine_ = std::move(troubles);
  return Text() != before;
}

const std::string& DeviceHealth::TroubleOf(std::size_t device) const {
  return looked_[device].empty() ? engine_[device] : looked_[device];
}

std::vector<bool> DeviceHealth::Usable() const {
  std::vector<bool> usable(devices_.size());
  for (std::size_t i = 0; i < devices_.size(); ++i) usable[i] = TroubleOf(i).empty();
  return usable;
}

Devices DeviceHealth::Count() const { return CountDevices(devices_, Usable()); }

// What several have in common is said once, or the first of eight would leave no room for others.
std::string DeviceHealth::Text() const {
  std::string text;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const std::string& trouble = TroubleOf(i);
    if (trouble.empty()) continue;
    if (!text.empty()) text += i > 0 && TroubleOf(i - 1) == trouble ? ", " : "; ";
    text += devices_[i].path;
    const bool is_last = i + 1 == devices_.size() || TroubleOf(i + 1) != trouble;
    if (is_last) text += ": " + trouble;
  }
  return text.empty() ? text : "it does not give out " + text;
}

}  // namespace tidemill
