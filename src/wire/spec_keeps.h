// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <chrono>
#include <vector>

#include "base/result.h"
#include "model/data.h"
#include "wire/json.h"

namespace tidemill::json {

// "cache": what every item needs.
//
//   cache: {weights: "s3://models/v3/", genome: "s3://ref/hg38.fa"}
Result<std::vector<CacheUse>> ReadCache(const Fields& spec);

// "checkpoint": true, or {every: 5m}. Zero: there are none.
Result<std::chrono::milliseconds> ReadCheckpoint(const Fields& spec);

}  // namespace tidemill::json
