// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "wire/json.h"
#include "wire/spec_json.h"

// What a spec says of how much an item may use and what follows if that was not enough. Fields that
// are not known are passed over here; CheckNeeds finds them.
namespace tidemill::json {

struct TimeBounds {
  std::chrono::milliseconds least;
  std::chrono::milliseconds most;
  std::chrono::milliseconds absent;
  std::string_view range;  // the two, for people
};
Result<std::chrono::milliseconds> ReadTime(const Fields& fields, std::string_view name,
                                           const TimeBounds& bounds);

// "resources", "retries", "retry" and "canary".
Result<void> ReadNeeds(const Fields& spec, ParsedSpec& parsed);
Result<void> CheckNeeds(const Fields& spec);

// Bytes, as a number or as "4GiB"; 0 if the field is absent.
Result<std::int64_t> ReadSize(const Fields& fields, std::string_view name);

}  // namespace tidemill::json
