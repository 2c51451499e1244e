// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "model/notify.h"
#include "net/http_client.h"
#include "net/name_finder.h"
#include "server/notify/rules.h"

namespace tidemill {

// Calls receivers. A name is looked up once a call, each of its addresses is held against the
// rules, and what is connected to is one of those; TLS still asks for the name. Redirects are not
// followed. Loop thread only.
class Webhooks {
 public:
  using Done = HttpClient::Done;

  Webhooks(AsioLoop& loop, NotifyRules rules);

  // As HttpClient::Send; a connection each. The caller bounds how many are under way.
  void Send(const NotifyUrl& url, HttpCall call, Done done);

 private:
  AsioLoop& loop_;
  const NotifyRules rules_;
  NameFinder names_;
  HttpClientOptions options_;
  std::int64_t last_ = 0;
  std::map<std::int64_t, std::unique_ptr<HttpClient>> under_way_;
};

}  // namespace tidemill
