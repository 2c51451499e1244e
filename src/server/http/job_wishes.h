// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "model/job.h"
#include "server/http/api.h"

namespace tidemill {

// Whether what a new job asks for is there: its queue, and the jobs that must be over first.
// kInvalid, with the field, if it is not.
void CheckWishes(ApiState& state, const NewJob& job, const std::shared_ptr<HttpPeer>& peer,
                 Reply<void> reply);

}  // namespace tidemill
