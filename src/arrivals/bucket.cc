// SPDX-License-Identifier: Apache-2.0
#include "arrivals/bucket.h"

namespace tidemill {
namespace {

void Add(const WatchedBucket& bucket, const std::string& key, std::string_view version,
         FoundItems& to) {
  if (key.ends_with('/') || !bucket.wants(key)) return;
  if (!CheckKey(key)) {
    ++to.unfit;
    return;
  }
  const std::string url = bucket.root + key;
  to.items.push_back({.item = url, .once = url + "#" + std::string(version)});
}

}  // namespace

FoundItems ItemsOf(const WatchedBucket& bucket, const std::vector<ListedObject>& objects) {
  FoundItems found;
  for (const auto& [key, tag] : objects) Add(bucket, key, VersionOf(tag), found);
  return found;
}

FoundItems ItemsOf(const WatchedBucket& bucket, const ArrivalMessage& message) {
  FoundItems found;
  for (const ArrivedObject& object : message.objects) {
    if (object.bucket == bucket.place.bucket) Add(bucket, object.key, object.version, found);
  }
  return found;
}

}  // namespace tidemill
