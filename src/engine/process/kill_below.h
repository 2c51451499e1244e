// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace tidemill {

// For an init that does not end what runs below it: stops it for good and sends SIGKILL to all its
// children and who is in their groups. `init` must be a child of ours that was not waited for.
// Orphans become its children, so this is to be called again until it says false: nobody lives.
bool KillBelow(pid_t init);

}  // namespace tidemill
