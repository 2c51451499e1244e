// SPDX-License-Identifier: Apache-2.0
#include "net/http_connection.h"

#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include "base/check.h"
#include "net/http_stream.h"
#include "net/transport_stream.h"

namespace tidemill {

using boost::asio::ip::tcp;

HttpConnection::HttpConnection(HttpClient::Impl& client)
    : client_(&client), transport_(Transport::Socket(client.loop.impl().io)) {}

void HttpConnection::Open(std::shared_ptr<HttpPending> pending) {
  pending_ = std::move(pending);
  pending_->connection = this;
  if (!client_->origin.unix_path.empty()) return OpenUnix();
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(client_->origin.host, error);
  if (error) return client_->options.resolve ? AskResolver() : Resolve();
  ConnectAllowed({tcp::endpoint(address, client_->origin.port)});
}

void HttpConnection::OpenUnix() {
  auto address = UnixAddress::Of(client_->origin.unix_path);
  if (!address) {
    return BreakSoon({Code::kUnavailable, "connect: " + std::move(address).error().reason});
  }
  address_ = *std::move(address);
  Connect({boost::asio::local::stream_protocol::endpoint(address_->text())});
}

void HttpConnection::Resolve() {
  resolver_.emplace(client_->loop.impl().io);
  resolver_->async_resolve(
      client_->origin.host, std::to_string(client_->origin.port),
      [self = shared_from_this()](const boost::system::error_code& error,
                                  const tcp::resolver::results_type& results) {
        if (self->state_ == State::kClosed) return;
        self->resolver_.reset();
        if (error) return self->Break("the name cannot be resolved: " + error.message());
        std::vector<tcp::endpoint> endpoints;
        for (const auto& result : results) endpoints.push_back(result.endpoint());
        self->ConnectAllowed(endpoints);
      });
}

void HttpConnection::AskResolver() {
  client_->options.resolve(
      client_->origin.host, [self = shared_from_this()](HttpClientOptions::Addresses found) {
        if (self->state_ == State::kClosed) return;
        if (!found) return self->Break("the name cannot be resolved: " + found.error().reason);
        std::vector<tcp::endpoint> endpoints;
        for (const std::string& text : *found) {
          boost::system::error_code error;
          const auto address = boost::asio::ip::make_address(text, error);
          if (!error) endpoints.emplace_back(address, self->client_->origin.port);
        }
        self->ConnectAllowed(endpoints);
      });
}

// What was asked about is what is connected to: a name that is looked up twice may change between.
void HttpConnection::ConnectAllowed(const std::vector<tcp::endpoint>& endpoints) {
  const auto& may_connect = client_->options.may_connect;
  std::vector<Protocol::endpoint> allowed;
  for (const tcp::endpoint& endpoint : endpoints) {
    if (!may_connect || may_connect(endpoint.address().to_string())) allowed.emplace_back(endpoint);
  }
  if (!allowed.empty()) return Connect(allowed);
  BreakSoon({Code::kForbidden, client_->origin.host + " may not be connected to from here"});
}

void HttpConnection::Connect(const std::vector<Protocol::endpoint>& endpoints) {
  boost::asio::async_connect(
      transport_.socket(), endpoints,
      [self = shared_from_this()](boost::system::error_code error, const Protocol::endpoint&) {
        if (self->state_ == State::kClosed) return;
        const bool is_tcp = !self->address_;
        self->address_.reset();
        auto& socket = self->transport_.socket();
        if (!error) socket.non_blocking(true, error);
        if (!error && is_tcp) socket.set_option(tcp::no_delay(true), error);
        if (error) return self->Break("connect: " + error.message());
        const Origin& origin = self->client_->origin;
        if (origin.tls) self->transport_.BecomeClient(*self->client_->options.tls, origin);
        self->Handshake();
      });
}

void HttpConnection::Handshake() {
  const Transport::Flow flow = transport_.Handshake();
  if (WaitIfAsked(flow)) return;
  flow == Transport::Flow::kDone ? Write() : Break(transport_.reason());
}

void HttpConnection::Carry(std::shared_ptr<HttpPending> pending) {
  TIDEMILL_CHECK(state_ == State::kIdle);
  pending_ = std::move(pending);
  pending_->connection = this;
  Write();
}

void HttpConnection::Write() {
  state_ = State::kBusy;
  got_bytes_ = false;
  pending_->sent = true;
  parser_.emplace(
      ParserLimits{client_->options.header_limit_bytes, client_->options.max_body_bytes},
      pending_->is_upgrade              ? ParserAnswerTo::kUpgrade
      : pending_->call.method == "HEAD" ? ParserAnswerTo::kHead
                                        : ParserAnswerTo::kOther);
  writing_ = true;
  WriteMore();
  Wait();
}

void HttpConnection::WriteMore() {
  const Transport::Flow flow = transport_.Write(pending_->out);
  if (flow == Transport::Flow::kWantWrite) return WaitToWrite();
  writing_ = false;
  // A server that refuses a body answers and closes before it has read all of it. The answer is
  // still to be read; if there is none, the reading finds out as well.
  if (flow != Transport::Flow::kDone) write_failed_ = true;
}

// One wait is always under way while connected: for the answer, and for the server's end when idle.
void HttpConnection::Wait() {
  if (waiting_) return;
  waiting_ = true;
  transport_.WaitToRead([self = shared_from_this()](const boost::system::error_code& error) {
    self->waiting_ = false;
    if (self->state_ == State::kClosed) return;
    if (error) return self->OnEnd(Transport::Flow::kFailed);
    self->OnReadable();
  });
}

void HttpConnection::WaitToWrite() {
  if (waiting_to_write_) return;
  waiting_to_write_ = true;
  transport_.WaitToWrite([self = shared_from_this()](const boost::system::error_code& error) {
    self->waiting_to_write_ = false;
    if (self->state_ == State::kClosed) return;
    if (error) return self->OnEnd(Transport::Flow::kFailed);
    if (!self->writing_) return self->OnReadable();
    self->WriteMore();
    // It may be the reading that had to write before it could go on.
    self->Wait();
  });
}

bool HttpConnection::WaitIfAsked(Transport::Flow flow) {
  if (flow == Transport::Flow::kWantRead) {
    Wait();
  } else if (flow == Transport::Flow::kWantWrite) {
    WaitToWrite();
  } else {
    return false;
  }
  return true;
}

void HttpConnection::OnReadable() {
  if (state_ == State::kConnecting) return Handshake();
  auto& scratch = client_->loop.impl().scratch;
  const Transport::Got got = transport_.Read(scratch);
  if (WaitIfAsked(got.flow)) return;
  if (got.flow != Transport::Flow::kDone) return OnEnd(got.flow);
  // Bytes that nobody asked for: whatever comes next on this connection cannot be trusted.
  if (state_ == State::kIdle) return Break("unexpected bytes");
  got_bytes_ = true;
  if (unused_.empty()) return Consume({scratch.data(), got.bytes});
  unused_.append(scratch.data(), got.bytes);
  Consume(unused_);
}

void HttpConnection::Consume(std::string_view bytes) {
  const ParserFed fed = parser_->Feed(bytes);
  PassOn();
  switch (fed.step) {
    case ParserStep::kMore:
      unused_ = std::string(bytes.substr(fed.used));
      return Wait();
    case ParserStep::kDone:
      if (parser_->status() == 101) return BecomeStream(std::string(bytes.substr(fed.used)));
      return Deliver(fed.used == bytes.size());
    case ParserStep::kHeader:
    case ParserStep::kBad:
      return Break("the answer cannot be read: " + parser_->detail());
  }
}

void HttpConnection::PassOn() {
  if (!pending_->call.on_piece) return;
  const std::string piece = parser_->TakePiece();
  if (!piece.empty()) pending_->call.on_piece(piece);
}

void HttpConnection::OnEnd(Transport::Flow flow) {
  const bool is_end = flow == Transport::Flow::kClosed;
  if (state_ == State::kBusy && is_end && got_bytes_ && parser_->FeedEnd() == ParserStep::kDone) {
    return Deliver(false);
  }
  if (state_ == State::kBusy && !got_bytes_ && served_one_) {
    auto* const client = client_;
    auto pending = std::move(pending_);
    const auto self = shared_from_this();
    Close();
    return client->OnStale(*self, std::move(pending));
  }
  Break(is_end ? "the server closed the connection before its answer was whole"
               : "the connection broke before the answer was whole: " + transport_.reason());
}

void HttpConnection::Deliver(bool may_go_on) {
  const bool keep =
      may_go_on && parser_->keep_alive() && !writing_ && !write_failed_ && !pending_->is_upgrade;
  HttpResponse answer = parser_->Take();
  parser_.reset();
  unused_ = std::string();
  auto* const client = client_;
  auto pending = std::move(pending_);
  const auto self = shared_from_this();
  if (keep) {
    served_one_ = true;
    state_ = State::kIdle;
    idle_since_ = client->loop.Now();
    Wait();
  } else {
    Close();
  }
  client->OnAnswer(*self, std::move(pending), {std::move(answer), nullptr});
}

void HttpConnection::BecomeStream(std::string early) {
  HttpClient::Upgraded got{parser_->Take(), nullptr};
  if (!NamesStream(got.answer.headers)) return Break("the server changed to another protocol");
  if (writing_ || write_failed_) return Break("the server did not wait for the whole request");
  auto* const client = client_;
  auto pending = std::move(pending_);
  const auto self = shared_from_this();
  boost::system::error_code ignored;
  transport_.socket().cancel(ignored);  // our own waits
  ++*client->streams;
  const auto stream =
      std::make_shared<TransportStream>(client->loop, std::move(transport_), std::move(early),
                                        [streams = client->streams] { --*streams; });
  got.stream = stream->Handle();
  Close();
  client->OnAnswer(*self, std::move(pending), std::move(got));
}

void HttpConnection::Break(std::string reason) {
  const Code code = pending_ && pending_->sent ? Code::kUnknown : Code::kUnavailable;
  End({code, std::move(reason)});
}

// Never from inside Send.
void HttpConnection::BreakSoon(Error error) {
  boost::asio::post(client_->loop.impl().io, [self = shared_from_this(), error = std::move(error)] {
    if (self->state_ != State::kClosed) self->End(error);
  });
}

void HttpConnection::End(Error error) {
  auto* const client = client_;
  auto pending = std::move(pending_);
  const auto self = shared_from_this();
  Close();
  client->OnEnded(*self, std::move(pending), std::move(error));
}

void HttpConnection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  client_ = nullptr;
  pending_.reset();
  parser_.reset();
  unused_ = std::string();
  if (resolver_) resolver_->cancel();
  transport_.Close();
}

}  // namespace tidemill
