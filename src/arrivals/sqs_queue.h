// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "arrivals/arrival_queue.h"
#include "cloud/aws_credentials.h"
#include "cloud/web.h"
#include "cloud/world.h"
#include "net/asio_loop.h"

namespace tidemill {

// Where a queue of SQS is asked.
struct SqsPlace {
  std::string queue_url = {};
  std::string region = {};
  WebUrl endpoint = {};
};
// The region stands in the host's name, or else AWS_REGION or the profile has it; the queue's own
// host is asked unless AWS_ENDPOINT_URL_SQS or the profile names another. kInvalid: it is no URL of
// a queue, no region is known, or clear text would be spoken to a host that is not near.
Result<SqsPlace> FindSqsPlace(const CloudWorld& world, std::string_view queue_url);

// A queue of SQS, to which S3, SNS or EventBridge sends. Loop thread only.
class SqsQueue : public ArrivalQueue {
 public:
  // All that SQS gives at once.
  static constexpr int kMost = 10;
  // The longest wait that SQS allows: the fewest calls where nothing arrives.
  static constexpr std::chrono::seconds kWait{20};
  // Longer than an answer of a server that is well, so that a message is mostly seen once; what is
  // seen twice does no harm.
  static constexpr std::chrono::seconds kHidden{60};

  // The loop outlives it. `wait` is how long a call waits at the queue.
  SqsQueue(AsioLoop& loop, CloudWorld world, SqsPlace place, std::chrono::seconds wait = kWait);

  void Receive(Done<std::vector<ArrivalMessage>> done) override;
  void Delete(std::vector<std::string> handles, Done<void> done) override;
  std::size_t full() const override { return kMost; }

 private:
  struct Deleting;
  void Call(const std::string& action, std::string body, std::chrono::seconds timeout,
            Done<std::string> done);

  // Constant after construction.
  const CloudWorld world_;
  const SqsPlace place_;
  const std::chrono::seconds wait_;

  // Loop thread only.
  Web web_;
  AwsCredentials credentials_;
};

}  // namespace tidemill
