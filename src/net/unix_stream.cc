// SPDX-License-Identifier: Apache-2.0
#include "net/unix_stream.h"

#include <utility>

#include <boost/asio/local/stream_protocol.hpp>

#include "base/check.h"
#include "net/asio_loop_impl.h"

namespace tidemill {

using boost::asio::local::stream_protocol;

struct UnixStream::Impl : std::enable_shared_from_this<UnixStream::Impl> {
  Impl(AsioLoop& a_loop, int fd) : loop(a_loop), socket(a_loop.impl().io) {
    boost::system::error_code error;
    socket.assign(stream_protocol(), fd, error);
    TIDEMILL_CHECK(!error);  // it is a stream socket, and no other loop has it
    socket.non_blocking(true, error);
    TIDEMILL_CHECK(!error);
  }

  void WaitToRead() {
    socket.async_wait(
        stream_protocol::socket::wait_read,
        [self = shared_from_this()](const boost::system::error_code&) { self->Read(); });
  }

  // One read a turn, so that a stream that never falls silent leaves the others their turns.
  void Read() {
    if (closed) return;
    auto& scratch = loop.impl().scratch;
    boost::system::error_code error;
    const std::size_t got = socket.read_some(boost::asio::buffer(scratch), error);
    if (error == boost::asio::error::would_block) return WaitToRead();
    if (error) {
      const bool is_end = error == boost::asio::error::eof;
      const auto call = std::move(on_end);
      Close();
      return call(is_end ? "the other side has closed it" : error.message());
    }
    WaitToRead();
    const auto call = on_bytes;  // a copy: the call may destroy the stream
    call({scratch.data(), got});
  }

  void Write() {
    if (closed) return;
    while (begin < out.size()) {
      boost::system::error_code error;
      begin +=
          socket.write_some(boost::asio::buffer(out.data() + begin, out.size() - begin), error);
      if (error == boost::asio::error::would_block) return WaitToWrite();
      if (error) break;  // the reading finds out as well
    }
    out.clear();
    begin = 0;
    // One large message must not be paid for as long as the stream lives.
    if (out.capacity() > 64 * 1024) out = std::string();
  }

  void WaitToWrite() {
    // Bytes that are gone are dropped only now and then, so that each is moved about once.
    if (begin > out.size() / 2) {
      out.erase(0, begin);
      begin = 0;
    }
    waiting_to_write = true;
    socket.async_wait(stream_protocol::socket::wait_write,
                      [self = shared_from_this()](const boost::system::error_code&) {
                        self->waiting_to_write = false;
                        self->Write();
                      });
  }

  void Close() {
    if (closed) return;
    closed = true;
    on_bytes = nullptr;
    on_end = nullptr;
    out = std::string();
    begin = 0;
    boost::system::error_code ignored;
    socket.close(ignored);
  }

  AsioLoop& loop;
  stream_protocol::socket socket;
  OnBytes on_bytes;
  OnEnd on_end;
  std::string out;
  std::size_t begin = 0;  // of `out`: what is before it is sent
  bool waiting_to_write = false;
  bool closed = false;
};

UnixStream::UnixStream(AsioLoop& loop, Fd socket)
    : impl_(std::make_shared<Impl>(loop, socket.Release())) {}

UnixStream::~UnixStream() { impl_->Close(); }

void UnixStream::Start(OnBytes on_bytes, OnEnd on_end) {
  if (impl_->closed) return;
  impl_->on_bytes = std::move(on_bytes);
  impl_->on_end = std::move(on_end);
  impl_->WaitToRead();
}

void UnixStream::Send(std::string_view bytes) {
  if (impl_->closed) return;
  impl_->out.append(bytes);
  if (!impl_->waiting_to_write) impl_->Write();
}

std::size_t UnixStream::unsent() const { return impl_->out.size() - impl_->begin; }

void UnixStream::Close() { impl_->Close(); }

}  // namespace tidemill
