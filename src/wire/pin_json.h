// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// POST /v1/agents/{session}/jobs/{job}/pin: what an agent has pulled as the job's image, and as the
// answer what counts: {"digest":"sha256:12"}.
std::string FormatPin(std::string_view digest);
// kInvalid: not the digest of an image.
Result<std::string> ParsePin(std::string_view body);

}  // namespace tidemill
