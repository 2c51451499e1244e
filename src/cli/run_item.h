// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "cli/console.h"
#include "cli/here.h"
#include "net/asio_loop.h"

namespace tidemill::cli {

struct RunItemFlags {
  std::string spec;   // a file, or "-"
  std::string items;  // as OpenItems has it; empty: none
  std::optional<std::int64_t> range;
  std::int64_t item = 0;
  std::vector<std::string> env;     // NAME=VALUE
  std::vector<std::string> params;  // NAME=VALUE
  HereFlags here;
};

// tidemill run: one item of a job that is not submitted, on this machine, without a server.
int RunItem(AsioLoop& loop, Random& random, const Console& console, const Surroundings& around,
            const RunItemFlags& flags);

}  // namespace tidemill::cli
