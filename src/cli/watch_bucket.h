// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/random.h"
#include "cli/bucket_job.h"
#include "cli/bucket_source.h"
#include "cli/context.h"

namespace tidemill::cli {

struct WatchBucketFlags {
  BucketSourceFlags source;
  BucketJobFlags job;
  std::chrono::milliseconds every{60'000};
  bool once = false;  // one listing, and no more
};

// tidemill watch-bucket. Objects become items of an open job until Ctrl-C. Nothing is kept here:
// the server knows what it was told, so this may be killed, started again, or run twice.
int WatchBucket(const Context& context, Random& random, const WatchBucketFlags& flags);

}  // namespace tidemill::cli
