// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/wall.h"

namespace tidemill {

// Microseconds since 1970, by the machine's clock.
inline TimePoint WallTime() { return TimePoint(std::chrono::milliseconds(WallMs())); }

struct LocalOptions {
  std::filesystem::path folder = {};  // servers that share it share the machines
  std::filesystem::path agent_program = {};
  std::vector<std::string> servers = {};  // URLs that agents are given
  std::string ca = {};                    // a file that says who vouches for them; empty: none
  std::vector<std::string> args = {};     // more flags for all agents
  // All that agents have of an environment: that of a server may hold secrets.
  std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
      "/sbin:/bin"};
  // More than an agent takes to end its items, save their checkpoints and say goodbye.
  Duration end_limit = std::chrono::seconds(60);
  // Others hold the lock of a pool for milliseconds: who waits longer has met a disk that hangs.
  Duration lock_limit = std::chrono::seconds(5);
  std::function<TimePoint()> clock = WallTime;  // any thread
};

}  // namespace tidemill
