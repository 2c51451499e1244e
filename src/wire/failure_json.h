// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/failure_groups.h"

// GET /v1/jobs/{job}/failures
namespace tidemill {

std::string FormatFailures(const FailureSummary& summary);
Result<FailureSummary> ParseFailures(std::string_view body);

}  // namespace tidemill
