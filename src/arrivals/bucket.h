// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrivals/arrival_queue.h"
#include "objects/listing.h"
#include "objects/object_store.h"
#include "wire/arrival_json.h"

// What of a bucket becomes items, and as which. Pure.
namespace tidemill {

struct WatchedBucket {
  ObjectUrl place = {};   // kind and bucket
  std::string root = {};  // "s3://in/": before a key, its URL
  std::function<bool(const std::string& key)> wants = {};
};

// What listings and messages come to.
struct FoundItems {
  std::vector<Arrival> items = {};
  // Keys that can be no item: longer than a key may be, not UTF-8, or with control characters.
  std::int64_t unfit = 0;
};

// The URL of each object is its item, and URL#version what makes it one item however often it is
// heard of. What only stands for a folder, a key with a slash at its end, is none.
FoundItems ItemsOf(const WatchedBucket& bucket, const std::vector<ListedObject>& objects);
// Those of other buckets are passed over.
FoundItems ItemsOf(const WatchedBucket& bucket, const ArrivalMessage& message);

}  // namespace tidemill
