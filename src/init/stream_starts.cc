// SPDX-License-Identifier: Apache-2.0
// How a stream gets the two ends of its bytes, and how its input ends.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "init/item.h"
#include "init/streams.h"
#include "init/terminal.h"

namespace tidemill::init {
namespace {

// On loopback only one who listens and does not take keeps us waiting.
constexpr std::int64_t kConnectUs = 10'000'000;

int ErrorOf(const Started& started) {
  return started.error != 0 ? started.error : started.machine_error;
}

int Again(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

// 0, or errno: EINPROGRESS too.
int ConnectTo(int fd, int family, std::uint16_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  const int done = family == AF_INET
                       ? connect(fd, reinterpret_cast<const sockaddr*>(&four), sizeof(four))
                       : connect(fd, reinterpret_cast<const sockaddr*>(&six), sizeof(six));
  return done == 0 ? 0 : errno;
}

}  // namespace

int OpenStreams::StartOnTerminal(Stream& stream, const frame::Open& open, bool has_role) {
  const PtyEnds pty = OpenPty(open.size);
  if (pty.error != 0) return pty.error;
  const Stdio stdio{.in = pty.slave, .out = pty.slave, .err = pty.slave, .terminal = true};
  stream.terminal = true;
  stream.input = pty.master;
  stream.output = Again(pty.master);
  const int error = stream.output < 0 ? errno : 0;
  const Started started = error == 0 ? StartOn(stdio, open.program, has_role) : Started{};
  close(pty.slave);
  stream.pid = started.pid;
  return error != 0 ? error : ErrorOf(started);
}

int OpenStreams::StartOnPipes(Stream& stream, const frame::Open& open, bool has_role) {
  int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
  int error = 0;
  for (auto& pipe : pipes) {
    if (error == 0 && pipe2(pipe, O_CLOEXEC) != 0) error = errno;
  }
  stream.input = pipes[0][1];
  stream.output = pipes[1][0];
  stream.errors = pipes[2][0];
  // Only our ends: a program may not have to know that its stdout can be full.
  for (const int fd : {stream.input, stream.output, stream.errors}) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  const Stdio stdio{.in = pipes[0][0], .out = pipes[1][1], .err = pipes[2][1]};
  const Started started = error == 0 ? StartOn(stdio, open.program, has_role) : Started{};
  for (const int fd : {stdio.in, stdio.out, stdio.err}) {
    if (fd >= 0) close(fd);
  }
  stream.pid = started.pid;
  return error != 0 ? error : ErrorOf(started);
}

int OpenStreams::Connect(Stream& stream) {
  const int family = stream.first_error == 0 ? AF_INET : AF_INET6;
  stream.input = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  stream.connecting = true;
  const int error = stream.input < 0 ? errno : ConnectTo(stream.input, family, stream.port);
  if (error != EINPROGRESS) return OnConnect(stream, error);
  stream.deadline_us = After(NowUs(), kConnectUs);
  return 0;
}

// At [::1] only if nobody is at 127.0.0.1, whose error is the one that is told.
int OpenStreams::OnConnect(Stream& stream, int error) {
  if (error != 0) {
    if (stream.input >= 0) close(std::exchange(stream.input, -1));
    if (stream.first_error != 0) return stream.first_error;
    stream.first_error = error;
    return Connect(stream);
  }
  const int on = 1;
  setsockopt(stream.input, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  stream.connecting = false;
  stream.deadline_us = kNever;
  stream.output = Again(stream.input);
  return stream.output < 0 ? errno : 0;
}

int OpenStreams::ErrorOfConnect(int socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

void OpenStreams::EndInput(Stream& stream) {
  if (stream.terminal) return;
  if (stream.port != 0) shutdown(stream.input, SHUT_WR);
  close(std::exchange(stream.input, -1));
}

}  // namespace tidemill::init
