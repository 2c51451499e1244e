// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "model/job.h"
#include "server/http/api.h"

namespace tidemill {

// Whether the jobs of a project may have this role of a cloud; of none, always. kInvalid: they may
// not. On a worker.
Result<void> MayHaveRole(AccessStore& access, const std::string& project, const std::string& role);

// Whether what a new job asks for is there: its queue, its role, and the jobs that must be over
// first. kInvalid, with the field, if it is not.
void CheckWishes(ApiState& state, const NewJob& job, const std::shared_ptr<HttpPeer>& peer,
                 Reply<void> reply);

}  // namespace tidemill
