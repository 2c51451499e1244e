// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "arrivals/arrival_queue.h"
#include "cloud/google_tokens.h"
#include "cloud/web.h"
#include "cloud/world.h"
#include "net/asio_loop.h"

namespace tidemill {

// Where a subscription of Pub/Sub is asked.
struct PubSubPlace {
  WebUrl url = {};  // with "/v1/projects/P/subscriptions/S" as its target
};
// kInvalid: it is not as projects/P/subscriptions/S, or the endpoint is wrong.
Result<PubSubPlace> FindPubSubPlace(const CloudWorld& world, std::string_view subscription);

// A subscription of Pub/Sub, to whose topic Cloud Storage sends. Loop thread only.
class PubSubQueue : public ArrivalQueue {
 public:
  // What an answer of some hundred KiB holds, and a server takes in one call.
  static constexpr int kMost = 100;

  // The loop outlives it.
  PubSubQueue(AsioLoop& loop, CloudWorld world, PubSubPlace place);

  void Receive(Done<std::vector<ArrivalMessage>> done) override;
  void Delete(std::vector<std::string> handles, Done<void> done) override;
  std::size_t full() const override { return kMost; }

 private:
  void Call(const std::string& action, std::string body, std::chrono::seconds timeout,
            Done<std::string> done);

  const PubSubPlace place_;
  Web web_;
  GoogleTokens tokens_;
};

}  // namespace tidemill
