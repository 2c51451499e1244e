// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/job.h"

namespace tidemill {

// What this machine has: the processors this process may use, and the memory of the machine or of
// the cgroup around us, whichever is less.
Resources MachineShape();

// Why the disk that a folder is on takes no more; empty: it does.
std::string DiskTrouble(const std::string& folder);

// Its host name, or "machine" if it has none that can be used.
std::string MachineName();

}  // namespace tidemill
