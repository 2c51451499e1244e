// SPDX-License-Identifier: Apache-2.0
#include "net/transport_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/check.h"
#include "net/asio_loop_impl.h"

namespace tidemill {
namespace {

using Flow = Transport::Flow;

// For what is unsent when a stream finishes, and for the other side to end it too. Who does not
// take it in that time will not miss it.
constexpr std::chrono::seconds kFinishTime{5};

// One large message must not be paid for as long as the stream lives.
constexpr std::size_t kKeptBytes = 64 << 10;

class StreamHandle : public ByteStream {
 public:
  explicit StreamHandle(std::shared_ptr<TransportStream> stream) : stream_(std::move(stream)) {}
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  ~StreamHandle() override {
    if (stream_->open()) stream_->Close();
  }

  void Start(Events events) override { stream_->Start(std::move(events)); }
  void Send(std::string_view bytes) override { stream_->Send(bytes); }
  std::size_t unsent() const override { return stream_->unsent(); }
  void Hold(bool hold) override { stream_->Hold(hold); }
  void Finish() override { stream_->Finish(); }
  void Close() override { stream_->Close(); }

 private:
  const std::shared_ptr<TransportStream> stream_;
};

}  // namespace

TransportStream::TransportStream(AsioLoop& loop, Transport transport, std::string early,
                                 std::function<void()> on_closed)
    : loop_(loop),
      transport_(std::move(transport)),
      early_(std::move(early)),
      on_closed_(std::move(on_closed)) {
  LookAfterIt();
}

std::unique_ptr<ByteStream> TransportStream::Handle() {
  return std::make_unique<StreamHandle>(shared_from_this());
}

// A silent stream whose other side has vanished ends after a minute and a half; one with bytes
// under way when the system gives up repeating them, after a quarter of an hour or so. Not
// TCP_USER_TIMEOUT: it would also end one whose other side is there and only holds.
void TransportStream::LookAfterIt() {
  const int fd = transport_.socket().native_handle();
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value);  // a Unix socket has none and needs none
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 6);
}

void TransportStream::Start(ByteStream::Events events) {
  if (state_ != State::kOpen) return;
  TIDEMILL_CHECK(events_ == nullptr && events.on_bytes && events.on_sent && events.on_end);
  events_ = std::make_shared<const ByteStream::Events>(std::move(events));
  Wait();
}

void TransportStream::Wait() {
  const bool reads = state_ == State::kOpen ? events_ && !held_ : state_ != State::kClosed;
  if (!reads || waiting_) return;
  waiting_ = true;
  auto turn = [self = shared_from_this()](const boost::system::error_code&) {
    self->waiting_ = false;
    self->OnReadable();
  };
  if (early_.empty()) return transport_.WaitToRead(std::move(turn));
  boost::asio::post(loop_.impl().io, [turn = std::move(turn)] { turn({}); });
}

void TransportStream::WaitToWrite() {
  if (waiting_to_write_) return;
  waiting_to_write_ = true;
  transport_.WaitToWrite([self = shared_from_this()](const boost::system::error_code&) {
    self->waiting_to_write_ = false;
    self->OnWritable();
  });
}

void TransportStream::OnReadable() {
  if (state_ == State::kFinishing || state_ == State::kEnded) return Discard();
  if (state_ == State::kOpen && !held_) Read();
}

// One read a turn, so that a stream that never falls silent leaves the others their turns.
void TransportStream::Read() {
  const auto events = events_;  // a call may destroy the stream
  if (!early_.empty()) {
    const std::string early = std::exchange(early_, {});
    Wait();
    return events->on_bytes(early);
  }
  auto& scratch = loop_.impl().scratch;
  const Transport::Got got = transport_.Read(scratch);
  switch (got.flow) {
    case Flow::kWantRead:
      return Wait();
    case Flow::kWantWrite:
      return WaitToWrite();
    case Flow::kClosed:
      return End("the other side has closed it");
    case Flow::kFailed:
      return End(transport_.reason());
    case Flow::kDone:
      Wait();
      return events->on_bytes({scratch.data(), got.bytes});
  }
}

// Closing with bytes unread would make the kernel reset the connection, and the other side could
// lose the last of what was sent. It may also have to send before it reads.
void TransportStream::Discard() {
  const Flow flow = transport_.Discard(loop_.impl().scratch);
  if (flow == Flow::kDone || flow == Flow::kWantRead) return Wait();
  other_ended_ = true;
  // Who sends no more may still read.
  if (state_ == State::kEnded || flow == Flow::kFailed) Close();
}

void TransportStream::Send(std::string_view bytes) {
  if (state_ != State::kOpen || write_failed_) return;
  out_.body.append(bytes);
  if (!waiting_to_write_) WriteMore();
}

void TransportStream::OnWritable() {
  if (state_ == State::kClosed || state_ == State::kEnded) return;
  const std::size_t before = unsent();
  WriteMore();
  if (state_ != State::kOpen) return;
  // It may be the reading that had to write before it could go on.
  Wait();
  const auto events = events_;
  if (events && unsent() < before) events->on_sent();
}

void TransportStream::WriteMore() {
  const Flow flow = transport_.Write(out_);
  if (flow == Flow::kWantWrite) {
    // Bytes that are gone are dropped only now and then, so that each is moved about once.
    if (out_.sent > out_.body.size() / 2) {
      out_.body.erase(0, out_.sent);
      out_.sent = 0;
    }
    return WaitToWrite();
  }
  // What the other side had sent before is still to be read; the reading finds the end as well.
  write_failed_ = flow != Flow::kDone;
  out_.body.clear();
  out_.sent = 0;
  if (out_.body.capacity() > kKeptBytes) out_.body = std::string();
  if (state_ == State::kFinishing) write_failed_ ? Close() : EndSending();
}

void TransportStream::Hold(bool hold) {
  held_ = hold;
  Wait();
}

void TransportStream::Finish() {
  if (state_ != State::kOpen) return;
  state_ = State::kFinishing;
  events_ = nullptr;
  early_ = std::string();
  timer_ = loop_.After(kFinishTime, [self = shared_from_this()] { self->Close(); });
  if (!waiting_to_write_) WriteMore();
  if (state_ == State::kFinishing) Wait();
}

void TransportStream::EndSending() {
  if (transport_.SayEnd() == Flow::kWantWrite) return WaitToWrite();
  if (other_ended_) return Close();
  transport_.EndSending();
  state_ = State::kEnded;
  Wait();
}

void TransportStream::End(const std::string& reason) {
  const auto events = events_;
  Close();
  events->on_end(reason);
}

void TransportStream::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  loop_.Cancel(timer_);
  events_ = nullptr;
  early_ = std::string();
  out_ = Outgoing();
  transport_.Close();
  if (const auto call = std::exchange(on_closed_, nullptr)) call();
}

}  // namespace tidemill
