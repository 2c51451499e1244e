// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_client.h"

namespace tidemill {

struct WebUrl {
  Origin origin = {};
  std::string target = "/";  // path and query, encoded
};

// "https://host:port/path?query". kInvalid: anything else.
Result<WebUrl> ParseWebUrl(std::string_view url);

// Whether clear text may be spoken to this host: this machine, or one of the link-local addresses
// at which clouds answer, which no router passes on.
bool IsNear(std::string_view host);

struct WebTries {
  int most = 3;
  // Before the second; each further wait is twice as long.
  std::chrono::milliseconds wait{200};
};

// Calls to several servers, whose connections it keeps. Loop thread only. Nothing survives a
// restart.
class Web {
 public:
  using Done = HttpClient::Done;

  Web(AsioLoop& loop, HttpClientOptions options);
  // Drops the calls under way: their `done` does not come.
  ~Web();
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;

  // As HttpClient::Send. What may have failed for a moment (no answer, 429, 5xx) is tried again: so
  // all calls must be idempotent.
  void Send(const Origin& origin, HttpCall call, WebTries tries, Done done);

 private:
  struct Server;
  struct Trying;
  Server& ServerOf(const Origin& origin);
  void Try(std::shared_ptr<Trying> trying);

  // Constant after construction.
  AsioLoop& loop_;
  const HttpClientOptions options_;

  // Loop thread only.
  std::map<std::string, std::unique_ptr<Server>> servers_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
