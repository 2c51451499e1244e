// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "model/env_report.h"

namespace tidemill::cli {

// Prints what an environment finds. The exit code: kNoDevice if one of those that were asked for is
// not seen, kFailed if a framework cannot be imported.
int ShowEnvReport(const Console& console, const std::string& image, const EnvReport& report,
                  const std::vector<std::string>& asked);

}  // namespace tidemill::cli
