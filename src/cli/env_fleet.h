// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/random.h"
#include "cli/context.h"
#include "cli/env.h"

// Work inside an environment's image on a machine of the fleet. The machine is made for it, if its
// pool has none to spare, and let go afterwards: the work is a job of one item, which ends by
// itself when the person is gone.
namespace tidemill::cli {

int EnvRunOnFleet(const Context& context, Random& random, const EnvFlags& flags);
int EnvShellOnFleet(const Context& context, Random& random, const EnvFlags& flags);
int EnvJupyterOnFleet(const Context& context, Random& random, const EnvFlags& flags);

}  // namespace tidemill::cli
