// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/tls.h"

namespace tidemill {

struct HttpClientOptions {
  // Each carries one call at a time, so a long poll occupies one.
  std::size_t max_connections = 4;
  // Calls that wait for a connection; one more is kExhausted.
  std::size_t max_queued = 1'000;
  // Connections beside those, each a stream or about to become one; one more is kExhausted.
  std::size_t max_streams = 64;
  std::size_t max_body_bytes = 64 << 20;  // of an answer
  std::size_t header_limit_bytes = 16 << 10;
  // Shorter than a server keeps them, so that few calls meet a connection that is just being
  // closed.
  std::chrono::milliseconds idle_timeout{60'000};
  // Whom to believe that it is the server of an https URL. Null: whom the system believes.
  std::shared_ptr<const TlsTrust> tls = {};
  // If set, it is asked about every address that the host turns out to have, in numbers; only those
  // for which it says yes are connected to. Not asked about a Unix socket.
  std::function<bool(const std::string& address)> may_connect = {};
  // If set, it is asked, once a connection, which addresses a name has, in numbers; else the system
  // is, on one thread for all clients of the loop. Answers later, on the loop thread.
  using Addresses = Result<std::vector<std::string>>;
  std::function<void(const std::string& name, std::function<void(Addresses)>)> resolve = {};
};

// Sends requests to one server and keeps its connections for the next. Loop thread only. Nothing
// survives a restart. It owns no buffer and no thread, so that a process may have thousands.
class HttpClient {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;

  HttpClient(AsioLoop& loop, Origin origin, HttpClientOptions options = {});
  // Drops the calls under way: their `done` does not come.
  ~HttpClient();

  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Calls `done` once, never from inside Send. Any status is a success here. Otherwise:
  //   kUnavailable  nothing was sent: refused, unreachable, not trusted, or no connection in time
  //   kUnknown      it was sent, at least in part, and no whole answer came, or one that was
  //                 malformed or too long
  //   kForbidden    nothing was sent: `may_connect` lets it connect to no address of the host
  //   kExhausted    too many calls wait
  //   kInvalid      the call itself is malformed
  //
  // A call may reach the server twice: a connection that had served before and ends without a byte
  // of answer was most likely closed as idle, so the call is sent once more on a new one. All calls
  // of this system are idempotent, which is what makes that right also when it was not so.
  void Send(HttpCall call, Done done);

  // The same on a connection of its own, which is to become a stream: a 101 comes with one, any
  // other answer without. The call's time ends with the answer, and is not sent twice. The stream
  // outlives the client if it has to. kUnknown also: a 101 to another protocol. kExhausted: too
  // many streams.
  struct Upgraded {
    HttpResponse answer;
    std::unique_ptr<ByteStream> stream;
  };
  void Upgrade(HttpCall call, std::function<void(Result<Upgraded>)> done);

  // Without those of Upgrade.
  std::size_t connections() const;

 private:
  struct Impl;
  friend class HttpConnection;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tidemill
