// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "cli/context.h"

namespace tidemill::cli {

struct LogsFlags {
  std::string job;
  std::int64_t item = 0;
  std::optional<std::int64_t> tail;     // only so many of the last lines
  bool follow = false;                  // until the item is over
  std::optional<std::int32_t> attempt;  // of the newest round; else the newest attempt
  std::filesystem::path agent_state;    // of the agent on this machine; empty: there is none
};
// tidemill logs
int ShowLogs(const Context& context, const LogsFlags& flags);

// The last lines of what it is given. Holds no more than kMostBytes, however long the lines are.
class LineTail {
 public:
  explicit LineTail(std::size_t lines) : lines_(lines) {}
  void Add(std::string_view bytes);
  std::string Text() const;

 private:
  static constexpr std::size_t kMostBytes = 64 << 20;

  const std::size_t lines_;
  std::deque<std::string> kept_;  // each with its newline, but perhaps the last
  std::size_t bytes_ = 0;
};

}  // namespace tidemill::cli
