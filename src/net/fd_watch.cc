// SPDX-License-Identifier: Apache-2.0
#include "net/fd_watch.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/fd.h"
#include "net/asio_loop_impl.h"

namespace tidemill {

using boost::asio::posix::stream_descriptor;

struct FdReader::Impl : std::enable_shared_from_this<FdReader::Impl> {
  Impl(AsioLoop& a_loop, int an_fd, OnBytes bytes, OnEnd end)
      : loop(a_loop),
        fd(an_fd),
        on_bytes(std::move(bytes)),
        on_end(std::move(end)),
        watch(a_loop.impl().io) {
    // An epoll of its own in between: asio would make the descriptor itself non-blocking.
    Fd epoll(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLIN, .data = {}};
    boost::system::error_code error;
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0) watch.assign(epoll.get(), error);
    if (watch.is_open()) {
      epoll.Release();
    } else if (error || errno != EPERM) {
      fd = -1;  // reading it is an error, which is an end
    }
  }

  // At most one is under way.
  void Wait() {
    if (waiting || held || closed) return;
    waiting = true;
    const auto turn = [self = shared_from_this()](const boost::system::error_code&) {
      self->waiting = false;
      if (!self->held && !self->closed) self->Read();
    };
    if (watch.is_open()) return watch.async_wait(stream_descriptor::wait_read, turn);
    boost::asio::post(loop.impl().io, [turn] { turn({}); });
  }

  // A read that blocks would stop the whole loop, and somebody else may have taken the bytes since.
  bool IsReady() {
    epoll_event event{};
    return !watch.is_open() || epoll_wait(watch.native_handle(), &event, 1, 0) > 0;
  }

  // One read a turn, so that a long file leaves the others their turns.
  void Read() {
    if (!IsReady()) return Wait();
    auto& scratch = loop.impl().scratch;
    const ssize_t got = ::read(fd, scratch.data(), scratch.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return Wait();
    if (got <= 0) {
      const auto call = std::move(on_end);
      Close();
      return call();
    }
    Wait();
    const auto call = on_bytes;  // a copy: the call may destroy the reader
    call({scratch.data(), static_cast<std::size_t>(got)});
  }

  void Close() {
    closed = true;
    on_bytes = nullptr;
    on_end = nullptr;
    boost::system::error_code ignored;
    watch.close(ignored);
  }

  AsioLoop& loop;
  int fd;  // what refuses to be watched is always ready: a file, /dev/null
  OnBytes on_bytes;
  OnEnd on_end;
  stream_descriptor watch;  // not open: there is nothing to wait for
  bool waiting = false;
  bool held = false;
  bool closed = false;
};

FdReader::FdReader(AsioLoop& loop, int fd, OnBytes on_bytes, OnEnd on_end)
    : impl_(std::make_shared<Impl>(loop, fd, std::move(on_bytes), std::move(on_end))) {
  impl_->Wait();
}

FdReader::~FdReader() { impl_->Close(); }

void FdReader::Hold(bool hold) {
  impl_->held = hold;
  impl_->Wait();
}

}  // namespace tidemill
