// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/stream_link.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace tidemill {

// An agent's way to whoever waits for a stream, over HTTP. Nobody says on which server he waits, so
// all are asked in turn; and because several may be behind one address, that is done some rounds,
// each time on a new connection. Loop thread only.
class HttpStreams : public StreamLink {
 public:
  static constexpr std::size_t kRounds = 5;
  static constexpr std::chrono::milliseconds kBetweenRounds{200};
  // For each call.
  static constexpr std::chrono::milliseconds kDialTime{10'000};

  // As of HttpLink.
  HttpStreams(AsioLoop& loop, const std::vector<Origin>& servers,
              std::shared_ptr<const TlsTrust> trust = {});

  void Connect(const SessionPass& pass, StreamId stream, Done done) override;
  void Refuse(const SessionPass& pass, StreamId stream, const std::string& reason) override;

 private:
  // One call to one server; `fail` goes on with the next.
  using Try = std::function<void(HttpClient& client, std::function<void(Error)> fail)>;
  // `over` gets the last error when all have failed; of a kNotFound and another, the other.
  struct Round {
    Try call;
    std::function<void(Error)> over;
    std::size_t tries = 0;
    Error last{Code::kNotFound, {}};
  };
  void Go(const std::shared_ptr<Round>& round);
  void GoOn(const std::shared_ptr<Round>& round, Error error);

  AsioLoop& loop_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::vector<std::unique_ptr<HttpClient>> clients_;
};

}  // namespace tidemill
