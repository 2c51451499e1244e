// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "cli/context.h"

namespace tidemill::cli {

struct ShellFlags {
  std::string job;
  std::optional<std::int64_t> item;
  bool terminal = false;                  // on the other side, also if there is none here
  bool no_terminal = false;               // at most one of the two
  std::vector<std::string> command = {};  // empty: a shell
};

// tidemill shell: a terminal, or a command, in the container of an item that runs, on its machine.
// Ends with the exit code of what ran there.
// `wrap` takes its stream and gives another, through which all goes.
using WrapStream = std::function<std::unique_ptr<ByteStream>(std::unique_ptr<ByteStream>)>;
int OpenItemShell(const Context& context, const ShellFlags& flags, const WrapStream& wrap = {});

// Whether it may be told to the other side as what the terminal here is.
bool IsTermName(const std::string& term);

}  // namespace tidemill::cli
