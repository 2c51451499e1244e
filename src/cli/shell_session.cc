// SPDX-License-Identifier: Apache-2.0
#include "cli/shell_session.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/raw_terminal.h"

namespace tidemill::cli {
namespace {

// Waits for who reads it, so without an end. Another process may have made it one that does not
// block: then it is waited for.
bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    pollfd wait{fd, POLLOUT, 0};
    if (::poll(&wait, 1, -1) < 0 && errno != EINTR) return false;
  }
  return true;
}

ShellPump::Write WriteTo(int fd, const std::string& name) {
  return [fd, name](std::string_view bytes) -> std::optional<std::string> {
    if (WriteAll(fd, bytes)) return std::nullopt;
    return "cannot write to " + name + ": " + std::strerror(errno);
  };
}

}  // namespace

ShellSession::ShellSession(AsioLoop& loop, std::unique_ptr<ByteStream> stream,
                           const ShellSeat& seat)
    : loop_(loop),
      seat_(seat),
      told_size_(seat.size),
      pump_(seat.has_keys, WriteTo(seat.out, "standard output"),
            WriteTo(seat.errors, "standard error")),
      stream_(std::move(stream)) {}

ShellEnd ShellSession::Run() {
  stream_->Start({.on_bytes =
                      [this](std::string_view bytes) {
                        pump_.Take(bytes);
                        StopIfEnded();
                      },
                  .on_sent = [this] { OnSent(); },
                  .on_end =
                      [this](const std::string& reason) {
                        pump_.Lose(reason);
                        StopIfEnded();
                      }});
  input_.emplace(
      loop_, seat_.in,
      [this](std::string_view bytes) {
        Send(pump_.Type(bytes));
        StopIfEnded();
      },
      [this] { Send(pump_.EndInput()); });
  if (told_size_) {
    loop_.OnSignal({SIGWINCH}, [weak = std::weak_ptr(self_)](int) {
      if (const auto self = weak.lock()) (*self)->SendSize();
    });
  }
  SendSize();
  while (!pump_.end()) loop_.Run();
  input_.reset();
  stream_->Close();
  return *pump_.end();
}

void ShellSession::StopIfEnded() {
  if (pump_.end()) loop_.Stop();
}

void ShellSession::Send(const std::string& frames) {
  if (!frames.empty()) stream_->Send(frames);
  if (stream_->unsent() > kUnsentMost) input_->Hold(true);
}

void ShellSession::SendSize() {
  if (!told_size_ || stream_->unsent() > kUnsentMost) return;
  const auto size = SizeOfTerminal(seat_.out);
  if (!size || *size == *told_size_) return;
  told_size_ = size;
  stream_->Send(frame::EncodeResize(0, *size));
}

void ShellSession::OnSent() {
  if (stream_->unsent() > kUnsentMost) return;
  input_->Hold(false);
  SendSize();
}

}  // namespace tidemill::cli
