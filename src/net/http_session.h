// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to net: includes asio.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "base/loop.h"
#include "net/asio_loop_impl.h"
#include "net/http_parser.h"
#include "net/http_server.h"
#include "net/transport.h"
#include "net/transport_stream.h"

namespace tidemill {

// One connection of a server. Loop thread only.
//
//   handshake (with TLS)
//    ▼
//   idle ──byte──▶ header ──▶ body ──▶ handling ──respond──▶ writing ──▶ idle
//                    └──refused──┴───────────────────────────▲  └─▶ draining ──▶ closed
//                                                               └─▶ stream ────▶
//
// From anywhere it may become closed, and never leaves that.
//
// Held by the server while it is open and by each asio operation under way.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(std::shared_ptr<HttpServer::Impl> server, boost::asio::ip::tcp::socket socket,
              std::uint64_t number);

  void Begin();
  void Respond(HttpResponse response);
  // Whoever had to respond has given up.
  void RespondNothing();
  void OnDeadline();
  // Nothing that was sent to us is lost by this, nor is anybody cut off in a request.
  void CloseIfIdle();
  void Close();

  // For a stranger that comes after it. False: it has a request under way.
  bool MakeWay();
  // What has come of its body is dropped, to make room for others.
  void DropBody();

  TimePoint deadline() const { return deadline_; }

 private:
  enum class State {
    kHandshake,
    kIdle,
    kHeader,
    kBody,
    kHandling,
    kWriting,
    kDraining,
    kStream,  // somebody else has the connection, which is counted here until its end
    kClosed,
  };

  // Makes sure that OnReadable comes. At most one wait is under way; it goes on through the states,
  // so that the end of the client is seen while its request is handled.
  void Wait();
  // The same for the other direction, when a Transport::Flow asks for it.
  void WaitToWrite();
  // Waits for what a Transport has asked for; false if it has not.
  bool WaitIfAsked(Transport::Flow flow);
  void OnReadable();
  void Handshake();
  void LookAtEarlyBytes();
  void Consume(std::string_view bytes);
  // What a kMore leaves over stands in `pending_` afterwards.
  void Keep(std::string_view rest);
  // False: it was answered, or is being handled, without its body.
  bool Admit();
  // What has come of the body counts from now on. False: there is no room for it, and it was
  // refused.
  bool Charge();
  void GiveBack();
  void Dispatch(HttpRequest request);
  void Refuse(int status, std::string detail);
  void Write(HttpResponse response);
  void WriteMore();
  void OnWritten(Transport::Flow flow);
  void Drain();
  void BecomeStream();
  // Nothing is read or written here any more.
  bool is_over() const { return state_ == State::kStream || state_ == State::kClosed; }

  // Constant after construction.
  const std::shared_ptr<HttpServer::Impl> server_;
  const std::uint64_t number_;  // in the order of their begin

  // Loop thread only.
  Transport transport_;
  State state_ = State::kIdle;
  TimePoint deadline_ = TimePoint::max();
  TimePoint body_began_{};
  bool waiting_ = false;
  bool waiting_to_write_ = false;
  bool served_one_ = false;
  std::string pending_;  // read and not yet used; bounded by the header limit and one read
  // Of the request under way.
  std::unique_ptr<RequestParser> parser_;  // in header and body
  std::shared_ptr<HttpPeer> peer_;         // in handling
  std::size_t charged_bytes_ = 0;
  bool is_known_ = false;  // who asks
  bool keep_alive_ = false;
  bool is_http10_ = false;
  bool is_head_ = false;
  bool wants_stream_ = false;
  bool unread_ = false;  // the client may still be sending what nobody will read
  // Of the answer under way.
  Outgoing out_;
  std::function<void(std::unique_ptr<ByteStream>)> on_stream_;  // of a 101
  std::weak_ptr<TransportStream> stream_;                       // in stream
};

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(AsioLoop& a_loop, HttpServerOptions some_options, HttpHandler a_handler)
      : loop(a_loop),
        options(std::move(some_options)),
        handler(std::move(a_handler)),
        acceptor(loop.impl().io) {}

  Result<void> Listen();
  void Accept();
  void OnAccept(const boost::system::error_code& error, boost::asio::ip::tcp::socket socket);
  void ArmSweep();
  void Sweep();
  void Forget(const std::shared_ptr<HttpSession>& session) { sessions.erase(session); }
  // Makes room for that much more of a request's body. False: there is none.
  bool MakeRoom(std::size_t bytes, bool is_known);
  // A copy, to walk over while sessions are forgotten.
  std::vector<std::shared_ptr<HttpSession>> AllSessions() const {
    return {sessions.begin(), sessions.end()};
  }
  HttpResponse ErrorPage(int status, std::string detail) const;
  // The Date field's value, made anew once a second.
  const std::string& Date();

  // Constant after construction.
  AsioLoop& loop;
  const HttpServerOptions options;
  const HttpHandler handler;

  // Loop thread only.
  boost::asio::ip::tcp::acceptor acceptor;
  std::uint16_t port = 0;
  bool stopping = false;
  bool closed = false;
  TimerId accept_timer = TimerId::kNone;
  TimerId sweep_timer = TimerId::kNone;
  std::unordered_set<std::shared_ptr<HttpSession>> sessions;
  std::uint64_t last_number = 0;
  // By their number, oldest first.
  std::map<std::uint64_t, HttpSession*> strangers;         // have never shown who they are
  std::map<std::uint64_t, HttpSession*> strangers_bodies;  // of requests that are not whole yet
  std::size_t bodies_bytes = 0;     // the sum of the sessions' charged_bytes_
  std::size_t strangers_bytes = 0;  // of them, those of strangers
  std::string date;
  TimePoint date_until{};
};

}  // namespace tidemill
