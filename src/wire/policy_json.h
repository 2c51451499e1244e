// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only.

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/policy.h"
#include "wire/json.h"

namespace tidemill::json {

// {"no_capabilities":false,"read_only_root":false, ...}
std::string PolicyText(const ContainerPolicy& policy);
// The object in a field; one that is absent demands nothing.
Result<ContainerPolicy> ReadPolicy(const Fields& fields, std::string_view name);

}  // namespace tidemill::json
