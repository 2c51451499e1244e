// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to wire.

#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/json.h"

namespace tidemill::json {

// Empty if the field is absent.
Result<std::string> ReadImageDigest(const Fields& fields, std::string_view name);

}  // namespace tidemill::json
