// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cli/console.h"
#include "net/asio_loop.h"

namespace tidemill::cli {

struct UpFlags {
  std::string engine = "docker";
  std::string data;  // empty: the default folder
  int port = 0;      // 0: that of the last time if it is free, else any
  std::string cpus;  // empty: all; the agent judges it
  std::string memory;
  std::string objects;  // a URL; empty: a folder beside the rest
};

// tidemill up: PostgreSQL, a server and an agent on this machine, until Ctrl-C or SIGTERM. Nothing
// that it has started outlives it, also when it is killed; what was submitted is kept.
int Up(AsioLoop& loop, const Console& console, const Surroundings& around, const UpFlags& flags);

}  // namespace tidemill::cli
