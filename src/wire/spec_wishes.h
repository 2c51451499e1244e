// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include "base/result.h"
#include "wire/json.h"
#include "wire/spec_json.h"

namespace tidemill::json {

// What a spec asks of whoever decides what runs next: "queue", "priority", "deadline", "budget",
// "max_parallel", "labels" and "after".
Result<void> ReadWishes(const Fields& spec, ParsedSpec& parsed);

}  // namespace tidemill::json
