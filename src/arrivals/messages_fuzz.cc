// SPDX-License-Identifier: Apache-2.0
// What anybody puts into a queue breaks nobody who reads it; and an object that is read from it has
// all its parts.
// sources: arrivals/s3_event.cc arrivals/queue_json.cc wire/tree.cc wire/json.cc wire/nearest.cc
// sources: wire/runs.cc wire/time.cc base/bits.cc base/bytes.cc base/check.cc base/id.cc
// libraries: zstd
#include <cstdlib>

#include "arrivals/queue_json.h"

namespace tidemill {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckObjects(const std::vector<ArrivedObject>& objects) {
  for (const ArrivedObject& object : objects) {
    Require(!object.bucket.empty() && !object.key.empty() && !object.version.empty());
  }
}

void CheckMessages(const Result<std::vector<ArrivalMessage>>& messages) {
  if (!messages) return;
  for (const ArrivalMessage& message : *messages) {
    Require(!message.handle.empty() && (message.unread.empty() || message.objects.empty()));
    CheckObjects(message.objects);
  }
}

}  // namespace
}  // namespace tidemill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto objects = tidemill::ParseS3Event(input)) tidemill::CheckObjects(*objects);
  tidemill::CheckMessages(tidemill::ParseSqsMessages(input));
  tidemill::CheckMessages(tidemill::ParsePulled(input));
  (void)tidemill::ParseSqsFailed(input);
  return 0;
}
