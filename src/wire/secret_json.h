// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// The values of secrets by name, as an agent gets them: {"secrets":{"NAME":"base64"}}. Values are
// bytes.
std::string FormatSecretValues(const std::map<std::string, std::string>& secrets);
Result<std::map<std::string, std::string>> ParseSecretValues(std::string_view text);

}  // namespace tidemill
