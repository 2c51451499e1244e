// SPDX-License-Identifier: Apache-2.0
#include "wire/check_json.h"

#include "wire/json.h"

namespace tidemill {

std::string FormatCheck(const CheckReport& report) {
  std::string out = report.breaches.empty() ? R"({"conserved":true)" : R"({"conserved":false)";
  out.append(",\"jobs\":").append(std::to_string(report.jobs));
  out.append(",\"items\":").append(std::to_string(report.items)).append(",\"breaches\":[");
  for (const std::string& breach : report.breaches) {
    if (&breach != &report.breaches.front()) out.push_back(',');
    out.append(json::Quoted(breach));
  }
  return out.append("]}");
}

}  // namespace tidemill
