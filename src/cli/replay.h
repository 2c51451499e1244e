// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "cli/context.h"
#include "cli/here.h"

namespace tidemill::cli {

struct ReplayFlags {
  std::string job;
  std::int64_t item = 0;
  std::string code;    // a folder or archive with the job's code; empty: the server is asked
  std::string memory;  // what it may use; empty: as its last attempt had
  HereFlags here;
};

// tidemill replay: an item of the fleet, on this machine: its last attempt, or its first if there
// was none.
int Replay(const Context& context, Random& random, const ReplayFlags& flags);

}  // namespace tidemill::cli
