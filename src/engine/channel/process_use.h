// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "engine/engine.h"

namespace tidemill {

// What an init and all below it use, as the kernel tells it of each process. Memory is what is
// resident now, and counts what processes share as often as they do. A container may make as many
// processes as its limit allows; of more than some hundred the rest is left out.
ContainerUse UseOf(pid_t init);

}  // namespace tidemill
