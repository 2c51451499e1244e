// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/env_report.h"

namespace tidemill {

// {"python":"3.11.2","frameworks":[{"name":"torch","version":"2.3","devices":["NVIDIA A10G"],
// "why":""}],"nodes":["/dev/nvidia0"]}, as the program of env/probe.h prints it. kInvalid.
Result<EnvReport> ParseEnvReport(std::string_view text);

// The same with the image, and the devices that were asked for and are not seen.
std::string FormatEnvReport(const std::string& image, const EnvReport& report,
                            const std::vector<std::string>& unseen);

}  // namespace tidemill
