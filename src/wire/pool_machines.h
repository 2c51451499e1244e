// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/pool.h"
#include "wire/json.h"
#include "wire/settings_json.h"

namespace tidemill::json {

// Larger than any fleet, and than any number of items: what is beyond is a slip.
inline constexpr std::int64_t kMostMachines = 1'000'000;
inline constexpr std::int64_t kMostItems = std::int64_t{1} << 53;

// What a pool's machines are, of an object that may have other fields too.
Result<PoolMachines> ReadMachines(const Fields& fields);
// "labels": what a pool says of its machines, or what a job asks of a pool; at most 64.
Result<Labels> ReadLabels(const Fields& fields);
std::string LabelsText(const Labels& labels);
std::string MachinesText(const PoolMachines& machines);

// Dollars.
Result<Money> MoneyOf(const Value& value, const Path& path);

}  // namespace tidemill::json
