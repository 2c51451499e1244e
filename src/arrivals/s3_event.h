// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// An object that a store says has arrived.
struct ArrivedObject {
  std::string bucket = {};
  std::string key = {};  // as it is in the store: nothing is encoded any more
  // As a listing has it, see VersionOf: of S3 the ETag, of Google the generation.
  std::string version = {};
  bool operator==(const ArrivedObject&) const = default;
};

// The objects of one message of S3's, in the order of its records: as S3 sends it itself, in which
// keys are encoded as forms are; as EventBridge has it, in which they are not; and either of them
// in the wrapping of SNS. A message about something else, a test or an end of an object, has none.
// kInvalid: it is none of these, or says less of an object than is needed. Pure.
Result<std::vector<ArrivedObject>> ParseS3Event(std::string_view body);

// Without the quotes that HTTP puts around an ETag.
std::string VersionOf(std::string_view tag);

}  // namespace tidemill
