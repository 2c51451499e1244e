// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_stream.h"
#include "cli/shell_pump.h"
#include "frame/stream.h"
#include "net/asio_loop.h"
#include "net/fd_watch.h"

namespace tidemill::cli {

// Where a shell is typed and shown.
struct ShellSeat {
  int in = 0;
  int out = 1;
  int errors = 2;
  bool has_keys = false;  // `in` is a raw terminal
  // What the other side was told of our terminal; nothing: no terminal is shown here, whose size
  // could change.
  std::optional<frame::TerminalSize> size = {};
};

// One shell, from its stream to its end. Loop thread only.
class ShellSession {
 public:
  // Of what was read and not taken by the other side: some screens of text, or a few round trips of
  // a file that is copied.
  static constexpr std::size_t kUnsentMost = 256 * 1024;

  ShellSession(AsioLoop& loop, std::unique_ptr<ByteStream> stream, const ShellSeat& seat);

  ShellSession(const ShellSession&) = delete;
  ShellSession& operator=(const ShellSession&) = delete;

  // Runs the loop until it has ended. What is shown is written at once, however long that takes:
  // meanwhile the other side has to wait.
  ShellEnd Run();

 private:
  void StopIfEnded();
  void Send(const std::string& frames);
  // Later, if too much is unsent: only the last size matters.
  void SendSize();
  void OnSent();

  AsioLoop& loop_;
  const ShellSeat seat_;
  std::optional<frame::TerminalSize> told_size_;
  ShellPump pump_;
  const std::unique_ptr<ByteStream> stream_;
  std::optional<FdReader> input_;
  // What the loop's signals know of this; they go on as long as the loop.
  const std::shared_ptr<ShellSession*> self_ = std::make_shared<ShellSession*>(this);
};

}  // namespace tidemill::cli
