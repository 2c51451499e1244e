// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/json.h"
#include "wire/spec_json.h"

namespace tidemill::json {

// A spec that stands at `path` of what was sent.
Result<ParsedSpec> ReadSpec(const Value& value, const Path& path);

// The field `name`, as the name of a job; empty if it is absent.
Result<std::string> ReadJobName(const Fields& fields);

// Of the form that the name of a variable has; its length is not looked at.
bool IsVariable(std::string_view name);

}  // namespace tidemill::json
