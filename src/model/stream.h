// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"

namespace tidemill {

using StreamId = Id<struct StreamTag>;

// What a person wants in the container of an item that runs.
struct StreamAsk {
  // Not 0: a connection to this port of the container's loopback. Else a program, of which:
  std::uint16_t port = 0;
  std::vector<std::string> command = {};  // empty: a shell
  bool terminal = false;
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  std::string term = {};  // what the person's terminal is: $TERM; empty: as the image says
  bool operator==(const StreamAsk&) const = default;
};

inline constexpr std::size_t kStreamCommandBytes = 32 * 1024;

// The best shell that the container has.
std::vector<std::string> ShellCommand();

// A stream that somebody has asked for, as the agent gets it that has the item's lease.
struct AskedStream {
  StreamId id;
  SessionId session;
  JobId job;
  std::int64_t item = 0;
  std::string ask = {};  // a StreamAsk, as JSON
  bool operator==(const AskedStream&) const = default;
};

}  // namespace tidemill
