// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/client.h"
#include "cli/console.h"

namespace tidemill::cli {

// What every command that talks to a server is given.
struct Context {
  const Console& console;
  const Surroundings& around;
  Client& client;
};

}  // namespace tidemill::cli
