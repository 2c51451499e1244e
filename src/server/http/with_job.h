// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "server/http/api.h"
#include "server/http/router.h"

namespace tidemill {

// Any body of JSON but a sync: the largest spec, written with room between its fields.
inline constexpr std::size_t kJsonBytes = 256 * 1024;

// A route whose first name is a job: finds it, then goes on with `act`, or answers that there is no
// such job.
Router::Route WithJob(ApiState& state, std::function<void(ApiState&, JobId, Call)> act);

}  // namespace tidemill
