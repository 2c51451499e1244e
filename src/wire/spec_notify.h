// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <vector>

#include "model/notify.h"
#include "wire/json.h"

namespace tidemill::json {

// Who is told of the job; nobody if the field is absent.
Result<std::vector<NotifyTarget>> ReadNotify(const Fields& spec);

}  // namespace tidemill::json
