// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/tls.h"

namespace tidemill {

// Answers one request: once, at once or much later, on the loop thread, where its last copy must be
// destroyed too. If the client has gone by then the answer is dropped quietly. If all copies are
// dropped uncalled the client gets 500.
using HttpRespond = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(HttpRequest, HttpRespond)>;

// What is decided of a request when only its header has come.
struct HttpAdmission {
  // The client has shown who it is. What is kept for strangers is bounded, see below.
  bool known = false;
  // False: the handler gets the request without its body, to refuse it, and the connection ends
  // with the answer.
  bool reads_body = true;
  std::size_t max_body_bytes = SIZE_MAX;  // if less than the option says
};

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // numeric, IPv4 or IPv6
  std::uint16_t port = 0;             // 0: any that is free

  // Set: every connection must speak TLS.
  std::shared_ptr<TlsIdentity> tls = {};
  // Go with every answer.
  HttpFields headers = {};

  // Eight MiB of payload and room for what wraps it.
  std::size_t max_body_bytes = (8 << 20) + (64 << 10);
  // All that has come of request bodies which are not yet answered. What does not fit gets 503, so
  // that many large bodies at once cost time and not the process.
  std::size_t max_bodies_bytes = 256 << 20;
  // Of these, what strangers may hold. What does not fit ends the oldest body of a stranger that is
  // not whole yet: who sends slowly cannot keep others out.
  std::size_t max_strangers_bytes = 64 << 20;
  std::size_t header_limit_bytes = 16 << 10;
  // One beyond takes the place of the oldest that a stranger holds without a request under way;
  // without such a one it is refused with 503. Each takes one descriptor and a few KiB.
  std::size_t max_connections = 20'000;

  // For the handshake of TLS and the first byte; then again from a request's first byte until its
  // header is whole.
  std::chrono::milliseconds header_timeout{30'000};
  // Until the body is whole, and one second more for each 64 KiB that have come.
  std::chrono::milliseconds body_timeout{30'000};
  // Between requests. Longer than a client keeps its own, so that the client is the one that
  // closes.
  std::chrono::milliseconds idle_timeout{75'000};
  // For one answer, until the last of it is in the kernel's hands.
  std::chrono::milliseconds write_timeout{120'000};

  // Asked once for each request. Empty: everybody is known.
  std::function<HttpAdmission(const HttpRequest& head)> admit = {};
  // Shapes the answers that the server gives by itself: 400, 408, 413, 431, 500, 501, 503, 505.
  // Empty: plain text.
  std::function<HttpResponse(int status, std::string detail)> error_page = {};
};

// An HTTP/1.1 server on a loop. Loop thread only, or before the loop runs. Nothing survives a
// restart.
//
// One request at a time per connection; requests sent ahead wait. A client that closes its
// connection, or its sending half, while the handler holds its request counts as gone. That is not
// seen if the client had sent bytes ahead: the handler's own time limit must bound how long it
// holds a request.
class HttpServer {
 public:
  HttpServer(AsioLoop& loop, HttpServerOptions options, HttpHandler handler);
  // As Close.
  ~HttpServer();

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Once. kInvalid: the address is not one of this machine's. kUnavailable: the port is taken.
  Result<void> Start();
  // The one listened on; after Start.
  std::uint16_t port() const;

  // For a graceful end: accepts nobody new, closes idle connections, and closes each other one
  // after the answer that is under way. All is done when connections() is 0. One that has become a
  // stream is a connection until its end, which is up to whoever has it.
  void StopAccepting();
  std::size_t connections() const;

  // Drops everything at once, streams too. Neither the handler, nor any on_gone, nor an event of a
  // stream is called from here on.
  void Close();

 private:
  struct Impl;
  friend class HttpSession;
  // Shared with the connections, whose last callbacks may come after this object is gone.
  const std::shared_ptr<Impl> impl_;
};

}  // namespace tidemill
