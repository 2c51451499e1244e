// SPDX-License-Identifier: Apache-2.0
#include "server/notify/webhooks.h"

#include <utility>

namespace tidemill {
namespace {

constexpr int kNameThreads = 4;
// A receiver has nothing to tell us but that it has it.
constexpr std::size_t kAnswerBytes = 64 << 10;

}  // namespace

Webhooks::Webhooks(AsioLoop& loop, NotifyRules rules)
    : loop_(loop), rules_(std::move(rules)), names_(loop, kNameThreads) {
  options_.max_connections = 1;
  options_.max_body_bytes = kAnswerBytes;
  options_.tls = TlsTrust::System();
  options_.may_connect = [this](const std::string& address) { return MayNotify(rules_, address); };
  options_.resolve = [this](const std::string& name, NameFinder::Done done) {
    names_.Find(name, std::move(done));
  };
}

void Webhooks::Send(const NotifyUrl& url, HttpCall call, Done done) {
  const std::int64_t number = ++last_;
  auto& client = under_way_[number];
  client = std::make_unique<HttpClient>(
      loop_, Origin{.host = url.host, .port = url.port, .tls = url.tls}, options_);
  client->Send(std::move(call), [this, number, done = std::move(done)](Result<HttpResponse> got) {
    under_way_.erase(number);
    done(std::move(got));
  });
}

}  // namespace tidemill
