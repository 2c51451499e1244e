// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <chrono>
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

// Kinds of devices and how many of each; none if the field is absent.
Result<Devices> ReadDevices(const Fields& fields, std::string_view name, Whole bounds);

}  // namespace tidemill::json
