// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/client.h"
#include "cli/console.h"
#include "cli/target.h"

namespace tidemill::cli {

// What every command that talks to a server is given.
struct Context {
  const Console& console;
  const Surroundings& around;
  Client& client;
  const Target& target;
};

}  // namespace tidemill::cli
