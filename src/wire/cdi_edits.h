// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only.

#include <string>

#include "model/cdi.h"
#include "wire/json.h"

namespace tidemill::json {

// kInvalid if the field is there though it came with a later version than the spec's own.
Result<void> CheckSince(const Fields& fields, std::string_view name, std::string_view since,
                        std::string_view version);

// The containerEdits of a spec or of a device; none if they are absent. `version` is the spec's.
Result<CdiEdits> ReadEdits(const Fields& owner, std::string_view version);

}  // namespace tidemill::json
