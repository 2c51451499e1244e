// SPDX-License-Identifier: Apache-2.0
#include "net/unix_listener.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/check.h"
#include "net/asio_loop_impl.h"
#include "net/unix_address.h"

namespace tidemill {
namespace {

using boost::asio::posix::stream_descriptor;

// One is expected; more only from those who try something.
constexpr int kBacklog = 8;
// Without descriptors to spare there is nothing to do but wait for some.
constexpr std::chrono::milliseconds kPauseWhenShort{100};

tl::unexpected<Error> FailedTo(const char* what) {
  return Fail(Code::kUnavailable, std::string(what) + ": " + strerror(errno));
}

}  // namespace

struct UnixListener::Impl : std::enable_shared_from_this<UnixListener::Impl> {
  Impl(AsioLoop& a_loop, int fd, OnPeer call)
      : loop(a_loop), socket(a_loop.impl().io, fd), on_peer(std::move(call)) {}

  void Wait() {
    socket.async_wait(
        stream_descriptor::wait_read,
        [self = shared_from_this()](const boost::system::error_code&) { self->Accept(); });
  }

  void Accept() {
    if (closed) return;
    Fd peer(accept4(socket.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
      timer = loop.After(kPauseWhenShort, [this] { Wait(); });
      return;
    }
    Wait();
    if (!peer) return;  // it has gone again
    ucred who{};
    socklen_t size = sizeof who;
    if (getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return;
    const auto call = on_peer;  // a copy: the call may destroy the listener
    call({std::move(peer), who.pid, who.uid});
  }

  void Close() {
    closed = true;
    on_peer = nullptr;
    loop.Cancel(timer);
    boost::system::error_code ignored;
    socket.close(ignored);
  }

  AsioLoop& loop;
  stream_descriptor socket;
  OnPeer on_peer;
  TimerId timer = TimerId::kNone;
  bool closed = false;
};

UnixListener::UnixListener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) { impl_->Wait(); }

UnixListener::~UnixListener() { impl_->Close(); }

Result<std::unique_ptr<UnixListener>> UnixListener::Listen(AsioLoop& loop, const std::string& path,
                                                           OnPeer on_peer) {
  TIDEMILL_TRY(const UnixAddress address, UnixAddress::Of(path));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return FailedTo("make a socket");
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  memcpy(at.sun_path, address.text().c_str(), address.text().size());
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    return FailedTo("bind the socket");
  }
  // By its path: a mode that is set on the descriptor does not reach the file.
  if (chmod(address.text().c_str(), 0666) != 0) return FailedTo("set the socket's mode");
  if (listen(socket.get(), kBacklog) != 0) return FailedTo("listen on the socket");
  auto impl = std::make_shared<Impl>(loop, socket.Release(), std::move(on_peer));
  return std::unique_ptr<UnixListener>(new UnixListener(std::move(impl)));
}

}  // namespace tidemill
