// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job.h"

// POST /v1/jobs/{job}/items: items that arrive while their job runs.
namespace tidemill {

inline constexpr std::size_t kMostArrivals = 10'000;
// An object's URL and its version.
inline constexpr std::size_t kOnceBytes = 4096;
inline constexpr std::size_t kItemsKeyBytes = 200;

struct Arrival {
  std::string item;
  std::string once = {};  // an item is added once for all that say this; empty: each time
  bool operator==(const Arrival&) const = default;
};
Result<std::vector<Arrival>> ParseArrivals(std::string_view body);
std::string FormatArrivals(const std::vector<Arrival>& arrivals);

struct AddedAnswer {
  Job job;
  std::optional<std::int64_t> first = {};
  std::int64_t added = 0;
  std::int64_t known = 0;
};
std::string FormatAdded(const AddedAnswer& added);
Result<AddedAnswer> ParseAdded(std::string_view body);

}  // namespace tidemill
