// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// What the realm of an image registry answers: {"token":".."}, or "access_token" in its place.
// kInvalid: there is none, or none that may stand in a header field.
Result<std::string> ParseRegistryToken(std::string_view body);

}  // namespace tidemill
