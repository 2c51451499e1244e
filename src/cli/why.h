// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "cli/context.h"
#include "wire/why_json.h"

namespace tidemill::cli {

// A headline, and a sentence each; no line is wider.
std::string WhyText(const JobWhy& why, std::size_t width);
std::string WhyText(const MachineWhy& why, std::size_t width);

// tidemill why: of a job, or else of a machine of that name.
int ShowWhy(const Context& context, const std::string& what);

}  // namespace tidemill::cli
