// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// What a running `tidemill up` tells the other commands on this machine.
struct UpFile {
  std::string server;       // its URL
  std::int64_t pid = 0;     // of `tidemill up`
  std::string agent_state;  // the agent's state folder
  std::string token_file;   // holds the token of whoever runs it
  std::string ca;           // the file of who vouches for the server
};
std::string FormatUp(const UpFile& file);
Result<UpFile> ParseUp(std::string_view text);

// The event `agent.ready` of an agent's log.
struct AgentReady {
  std::string machine;
  std::string engine;
  std::string cpus;  // as the agent wrote it
  std::int64_t memory_bytes = 0;
};
// Nothing if the line is another event, or no event at all.
std::optional<AgentReady> ParseAgentReady(std::string_view line);

// What a line of a program's log says to a person: "agent.refused: reason=..."; the line itself if
// it is no event.
std::string EventText(std::string_view line);

}  // namespace tidemill
