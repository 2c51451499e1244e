// SPDX-License-Identifier: Apache-2.0
#include "model/env_report.h"

#include <algorithm>

namespace tidemill {

bool SeesDevice(const EnvReport& report, std::string_view device) {
  if (device.starts_with('/')) {
    return std::find(report.nodes.begin(), report.nodes.end(), device) != report.nodes.end();
  }
  const std::string_view kind = device.substr(0, device.find('='));
  if (!kind.ends_with("/gpu") || report.frameworks.empty()) return !report.nodes.empty();
  return std::all_of(report.frameworks.begin(), report.frameworks.end(),
                     [](const EnvFramework& one) { return !one.devices.empty(); });
}

}  // namespace tidemill
