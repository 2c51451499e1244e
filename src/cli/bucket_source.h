// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arrivals/arrival_queue.h"
#include "arrivals/bucket.h"
#include "cli/stores.h"

namespace tidemill::cli {

struct BucketSourceFlags {
  std::string url = {};           // a bucket, what is below a prefix of it, or a pattern
  std::string queue = {};         // of SQS; empty: none
  std::string subscription = {};  // of Pub/Sub; empty: none
};

// Where objects arrive.
struct BucketSource {
  std::string url = {};  // in one spelling
  WatchedBucket bucket = {};
  ObjectStore* store = nullptr;              // never null; lives as long as the stores
  std::vector<std::string> prefixes = {};    // all that is listed
  std::unique_ptr<ArrivalQueue> queue = {};  // null: nobody tells of arrivals
};

// kInvalid: a flag is wrong, or they do not go together.
Result<BucketSource> OpenBucket(Stores& stores, const CloudWorld& world,
                                const BucketSourceFlags& flags);

}  // namespace tidemill::cli
