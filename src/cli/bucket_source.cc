// SPDX-License-Identifier: Apache-2.0
#include "cli/bucket_source.h"

#include <utility>

#include "arrivals/pubsub_queue.h"
#include "arrivals/sqs_queue.h"
#include "submit/glob.h"

namespace tidemill::cli {
namespace {

Result<void> FindObjects(Stores& stores, const std::string& url, BucketSource& source) {
  TIDEMILL_TRY(source.bucket.place, ParseObjectUrl(url));
  TIDEMILL_TRY(const ObjectStores::Place place, stores.Find(url));
  source.store = place.store;
  source.bucket.root = url.substr(0, url.size() - place.key.size());
  if (!source.bucket.root.ends_with('/')) source.bucket.root.push_back('/');
  source.url = source.bucket.root + place.key;
  if (!Glob::IsPattern(place.key)) {
    source.prefixes = {place.key};
    source.bucket.wants = [prefix = place.key](const std::string& key) {
      return key.starts_with(prefix);
    };
    return {};
  }
  TIDEMILL_TRY(Glob glob, Glob::Parse(place.key));
  source.prefixes = glob.Prefixes();
  source.bucket.wants = [glob = std::move(glob)](const std::string& key) {
    return glob.Matches(key);
  };
  return {};
}

}  // namespace

Result<BucketSource> OpenBucket(Stores& stores, const CloudWorld& world,
                                const BucketSourceFlags& flags) {
  BucketSource source;
  if (const auto found = FindObjects(stores, flags.url, source); !found) {
    return While(flags.url, found.error());
  }
  if (!flags.queue.empty()) {
    if (source.bucket.place.kind != ObjectUrl::Kind::kS3) {
      return Fail(Code::kInvalid, "--queue is for s3://; a bucket of Google has a --subscription");
    }
    auto place = FindSqsPlace(world, flags.queue);
    if (!place) return While("--queue", place.error());
    source.queue = std::make_unique<SqsQueue>(stores.loop(), world, *std::move(place));
  }
  if (!flags.subscription.empty()) {
    if (source.bucket.place.kind != ObjectUrl::Kind::kGcs) {
      return Fail(Code::kInvalid, "--subscription is for gs://; a bucket of AWS has a --queue");
    }
    auto place = FindPubSubPlace(world, flags.subscription);
    if (!place) return While("--subscription", place.error());
    source.queue = std::make_unique<PubSubQueue>(stores.loop(), world, *std::move(place));
  }
  return source;
}

}  // namespace tidemill::cli
