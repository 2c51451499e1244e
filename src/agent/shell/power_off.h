// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cloud/machine_end.h"
#include "net/asio_loop.h"

namespace tidemill {

// By a command of the shell, which is to power the machine off.
std::unique_ptr<MachineEnd> EndByCommand(AsioLoop& loop, std::string command);

}  // namespace tidemill
