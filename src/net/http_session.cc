// SPDX-License-Identifier: Apache-2.0
#include "net/http_session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/check.h"
#include "net/http_format.h"
#include "net/http_stream.h"

namespace tidemill {
namespace {

using boost::asio::ip::tcp;

// A body must come at least this fast after its grace, or a few slow clients could hold the whole
// budget for bodies.
constexpr std::size_t kBodyBytesPerSecond = 64 << 10;

// How long to go on reading what nobody wants. Closing with bytes unread would make the kernel
// reset the connection, and the client would lose the answer that tells it why.
constexpr std::chrono::seconds kDrainTime{5};

// What a copyable HttpRespond shares among its copies.
class Responder {
 public:
  explicit Responder(std::weak_ptr<HttpSession> session) : session_(std::move(session)) {}
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder() {
    if (answered_) return;
    if (const auto session = session_.lock()) session->RespondNothing();
  }

  void Answer(HttpResponse response) {
    TIDEMILL_CHECK(!answered_);  // two answers to one request
    answered_ = true;
    if (const auto session = session_.lock()) session->Respond(std::move(response));
  }

 private:
  // Weak: the one who answers must not keep a closed connection's memory.
  const std::weak_ptr<HttpSession> session_;
  bool answered_ = false;
};

}  // namespace

HttpSession::HttpSession(std::shared_ptr<HttpServer::Impl> server, tcp::socket socket,
                         std::uint64_t number)
    : server_(std::move(server)), number_(number), transport_(std::move(socket)) {}

void HttpSession::Begin() {
  deadline_ = server_->loop.Now() + server_->options.header_timeout;
  if (const auto& tls = server_->options.tls) {
    transport_.BecomeServer(*tls);
    state_ = State::kHandshake;
  }
  Wait();
}

void HttpSession::Wait() {
  if (waiting_) return;
  waiting_ = true;
  transport_.WaitToRead([self = shared_from_this()](const boost::system::error_code& error) {
    self->waiting_ = false;
    if (self->is_over()) return;
    if (error) return self->Close();
    self->OnReadable();
  });
}

void HttpSession::WaitToWrite() {
  if (waiting_to_write_) return;
  waiting_to_write_ = true;
  transport_.WaitToWrite([self = shared_from_this()](const boost::system::error_code& error) {
    self->waiting_to_write_ = false;
    if (self->is_over()) return;
    if (error) return self->Close();
    // Only an answer wants to write by itself; all others went on reading and TLS had to answer.
    self->state_ == State::kWriting ? self->WriteMore() : self->OnReadable();
  });
}

bool HttpSession::WaitIfAsked(Transport::Flow flow) {
  if (flow == Transport::Flow::kWantRead) {
    Wait();
  } else if (flow == Transport::Flow::kWantWrite) {
    WaitToWrite();
  } else {
    return false;
  }
  return true;
}

void HttpSession::OnReadable() {
  if (state_ == State::kHandshake) return Handshake();
  if (state_ == State::kHandling || state_ == State::kWriting) return LookAtEarlyBytes();
  auto& scratch = server_->loop.impl().scratch;
  const Transport::Got got = transport_.Read(scratch);
  if (WaitIfAsked(got.flow)) return;
  // Also in the middle of a request: there is nobody left to answer.
  if (got.flow != Transport::Flow::kDone) return Close();
  if (state_ == State::kDraining) return Wait();
  if (pending_.empty()) return Consume({scratch.data(), got.bytes});
  pending_.append(scratch.data(), got.bytes);
  Consume(pending_);
}

void HttpSession::Handshake() {
  const Transport::Flow flow = transport_.Handshake();
  if (WaitIfAsked(flow)) return;
  if (flow == Transport::Flow::kDone) {
    // What is left of the time for it is there for the first byte of a request.
    state_ = State::kIdle;
    if (server_->stopping) CloseIfIdle();
    return Wait();
  }
  if (!transport_.met_plain_http()) return Close();
  transport_.BecomePlain();
  Refuse(400, "this port speaks TLS; the URL must begin with https://");
}

// The client's next request, or its end. Who sends ahead is not waited for until its turn comes.
void HttpSession::LookAtEarlyBytes() {
  const Transport::Flow flow = transport_.Peek();
  if (WaitIfAsked(flow)) return;
  // Who shuts its sending half and reads on still gets an answer that is being written.
  if (flow != Transport::Flow::kDone && state_ == State::kHandling) return Close();
  unread_ = true;
}

void HttpSession::Consume(std::string_view bytes) {
  if (state_ == State::kIdle) {
    // Some old clients send an empty line after a body.
    while (!bytes.empty() && (bytes[0] == '\r' || bytes[0] == '\n')) bytes.remove_prefix(1);
    if (bytes.empty()) {
      Keep(bytes);
      return Wait();
    }
    state_ = State::kHeader;
    deadline_ = server_->loop.Now() + server_->options.header_timeout;
    parser_ = std::make_unique<RequestParser>(
        ParserLimits{server_->options.header_limit_bytes, server_->options.max_body_bytes});
  }
  while (true) {
    const ParserFed fed = parser_->Feed(bytes);
    bytes.remove_prefix(fed.used);
    switch (fed.step) {
      case ParserStep::kBad:
        return Refuse(parser_->status(), parser_->detail());
      case ParserStep::kHeader:
        if (!Admit()) return;
        if (bytes.empty() && parser_->expects_continue()) {
          // The buffer for sending is empty, so this goes out; if not, the client sends its body
          // anyway.
          Outgoing go_on{"HTTP/1.1 100 Continue\r\n\r\n", {}};
          transport_.Write(go_on);
        }
        break;
      case ParserStep::kMore:
        Keep(bytes);
        if (state_ == State::kBody && !Charge()) return;
        return Wait();
      case ParserStep::kDone:
        Keep(bytes);
        if (!Charge()) return;
        return Dispatch(parser_->Take());
    }
  }
}

void HttpSession::Keep(std::string_view rest) {
  if (rest.empty()) {
    pending_ = std::string();  // and its memory: there may be many idle connections
  } else if (pending_.empty()) {
    pending_.assign(rest);
  } else {
    pending_.erase(0, pending_.size() - rest.size());
  }
}

bool HttpSession::Admit() {
  state_ = State::kBody;
  body_began_ = server_->loop.Now();
  deadline_ = body_began_ + server_->options.body_timeout;
  const auto& admit = server_->options.admit;
  const HttpAdmission admission = admit ? admit(parser_->head()) : HttpAdmission{.known = true};
  is_known_ = admission.known;
  if (is_known_) server_->strangers.erase(number_);
  if (!parser_->has_body()) return true;
  if (!admission.reads_body) {
    unread_ = true;
    pending_ = std::string();
    Dispatch(parser_->TakeHead());
    return false;
  }
  if (parser_->content_length().value_or(0) > admission.max_body_bytes) {
    Refuse(413, "the body is longer than " + std::to_string(admission.max_body_bytes) + " bytes");
    return false;
  }
  if (admission.max_body_bytes < SIZE_MAX) parser_->LimitBody(admission.max_body_bytes);
  return true;
}

bool HttpSession::Charge() {
  const std::size_t bytes = parser_->body_bytes();
  deadline_ = body_began_ + server_->options.body_timeout +
              std::chrono::seconds(bytes / kBodyBytesPerSecond);
  if (bytes <= charged_bytes_) return true;
  const std::size_t more = bytes - charged_bytes_;
  if (!is_known_) server_->strangers_bodies.emplace(number_, this);
  const bool has_room = server_->MakeRoom(more, is_known_);
  if (state_ != State::kBody) return false;  // it was the one that made room
  if (!has_room) {
    Refuse(503, "too many request bodies at once");
    return false;
  }
  server_->bodies_bytes += more;
  if (!is_known_) server_->strangers_bytes += more;
  charged_bytes_ = bytes;
  return true;
}

void HttpSession::GiveBack() {
  const std::size_t bytes = std::exchange(charged_bytes_, 0);
  server_->bodies_bytes -= bytes;
  if (!is_known_) server_->strangers_bytes -= bytes;
  server_->strangers_bodies.erase(number_);
}

void HttpSession::DropBody() {
  Refuse(503, "others needed the room that this request took; send it again");
}

bool HttpSession::MakeWay() {
  if (state_ == State::kHandling || state_ == State::kWriting || is_over()) return false;
  Close();
  return true;
}

void HttpSession::Dispatch(HttpRequest request) {
  keep_alive_ = parser_->keep_alive() && !unread_;
  is_http10_ = parser_->is_http10();
  is_head_ = parser_->is_head();
  server_->strangers_bodies.erase(number_);
  wants_stream_ = !is_http10_ && WantsStream(request);
  parser_.reset();
  state_ = State::kHandling;
  deadline_ = TimePoint::max();
  peer_ = std::make_shared<HttpPeer>();
  request.peer = peer_;
  request.address = transport_.PeerAddress();
  request.is_tls = server_->options.tls != nullptr;
  auto responder = std::make_shared<Responder>(weak_from_this());
  const auto self = shared_from_this();
  server_->handler(std::move(request), [responder = std::move(responder)](HttpResponse response) {
    responder->Answer(std::move(response));
  });
  if (state_ == State::kHandling) Wait();
}

void HttpSession::Respond(HttpResponse response) {
  if (state_ != State::kHandling) return;
  const bool is_safe =
      IsSafeField("Content-Type", response.content_type) &&
      std::all_of(response.headers.begin(), response.headers.end(),
                  [](const auto& field) { return IsSafeField(field.first, field.second); });
  if (!is_safe) response = server_->ErrorPage(500, "the answer had a malformed header field");
  if (response.status == 101 && !(wants_stream_ && response.on_stream)) {
    response = server_->ErrorPage(500, "the answer was to become a stream, and cannot");
  }
  Write(std::move(response));
}

void HttpSession::RespondNothing() {
  if (state_ != State::kHandling) return;
  Write(server_->ErrorPage(500, "the request was given up without an answer"));
}

void HttpSession::Refuse(int status, std::string detail) {
  parser_.reset();
  pending_ = std::string();
  keep_alive_ = false;
  is_head_ = false;
  unread_ = true;
  Write(server_->ErrorPage(status, std::move(detail)));
}

void HttpSession::Write(HttpResponse response) {
  const bool is_stream = response.status == 101;
  TIDEMILL_CHECK(is_stream || (response.status >= 200 && response.status <= 999));
  state_ = State::kWriting;
  deadline_ = server_->loop.Now() + server_->options.write_timeout;
  GiveBack();
  if (const auto peer = std::exchange(peer_, nullptr)) peer->on_gone = nullptr;
  if (server_->stopping) keep_alive_ = false;
  const Persistence persistence = is_stream      ? Persistence::kStream
                                  : !keep_alive_ ? Persistence::kClose
                                  : is_http10_   ? Persistence::kKeepAlive
                                                 : Persistence::kDefault;
  if (is_stream) on_stream_ = std::move(response.on_stream);
  for (const auto& field : server_->options.headers) response.headers.push_back(field);
  out_.head = FormatHead(response, server_->Date(), persistence);
  if (!is_head_ && !IsBodiless(response.status)) out_.body = std::move(response.body);
  WriteMore();
}

void HttpSession::WriteMore() {
  const Transport::Flow flow = transport_.Write(out_);
  if (WaitIfAsked(flow)) return;
  // Later, because the next request may have come already, and its handler must not run inside of
  // the one that has just answered.
  boost::asio::post(server_->loop.impl().io, [self = shared_from_this(), flow] {
    if (self->state_ == State::kWriting) self->OnWritten(flow);
  });
}

void HttpSession::OnWritten(Transport::Flow flow) {
  if (flow != Transport::Flow::kDone) return Close();
  out_ = Outgoing();
  served_one_ = true;
  if (on_stream_) return BecomeStream();
  if (!keep_alive_) return unread_ || !pending_.empty() ? Drain() : Close();
  unread_ = false;
  state_ = State::kIdle;
  deadline_ = server_->loop.Now() + server_->options.idle_timeout;
  if (server_->stopping) CloseIfIdle();
  if (state_ == State::kClosed) return;
  if (!pending_.empty()) return Consume(pending_);
  Wait();
}

void HttpSession::Drain() {
  transport_.EndSending();
  pending_ = std::string();
  state_ = State::kDraining;
  deadline_ = server_->loop.Now() + kDrainTime;
  Wait();
}

void HttpSession::BecomeStream() {
  state_ = State::kStream;
  deadline_ = TimePoint::max();
  boost::system::error_code ignored;
  transport_.socket().cancel(ignored);  // our own waits
  const auto stream = std::make_shared<TransportStream>(
      server_->loop, std::move(transport_), std::exchange(pending_, {}), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->Close();
      });
  stream_ = stream;
  const auto call = std::exchange(on_stream_, nullptr);
  call(stream->Handle());
}

void HttpSession::OnDeadline() {
  switch (state_) {
    case State::kHeader:
      return Refuse(408, "the header did not come in time");
    case State::kBody:
      return Refuse(408, "the body did not come in time");
    case State::kHandling:
    case State::kStream:
    case State::kClosed:
      return;
    case State::kHandshake:
    case State::kIdle:
    case State::kWriting:
    case State::kDraining:
      return Close();
  }
}

void HttpSession::CloseIfIdle() {
  boost::system::error_code ignored;
  const bool is_idle = state_ == State::kIdle || state_ == State::kHandshake;
  if (!is_idle || !pending_.empty() || transport_.socket().available(ignored) > 0) return;
  if (served_one_) return Close();
  // Its first request may be on the way, and a client does not repeat the first of a connection.
  deadline_ = std::min(deadline_, server_->loop.Now() + std::chrono::seconds(1));
}

void HttpSession::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  if (const auto stream = stream_.lock()) stream->Close();
  transport_.Close();
  on_stream_ = nullptr;
  parser_.reset();
  pending_ = std::string();
  GiveBack();
  server_->strangers.erase(number_);
  server_->Forget(self);
  const auto peer = std::exchange(peer_, nullptr);
  if (!peer) return;
  peer->gone = true;
  const auto call = std::exchange(peer->on_gone, nullptr);
  if (call && !server_->closed) call();
}

}  // namespace tidemill
