// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/item_page.h"
#include "model/job.h"
#include "report/summary.h"

// What people's programs say about jobs, as the bodies of the calls under /v1/jobs. They are read
// strictly: a field that is not known is an error that names the nearest one.
namespace tidemill {

// POST /v1/jobs. The key is empty if there was none. The spec's document is the object that was
// sent, with all its fields, in one spelling: fields sorted, no spaces.
Result<NewJob> ParseNewJob(std::string_view body);
// PUT .../parts/{number}, as {"range": N}
Result<std::int64_t> ParseRange(std::string_view body);
// POST .../seal: the number of parts.
Result<std::int32_t> ParseSeal(std::string_view body);
// POST .../retry: these items, or if there are none all that have failed.
inline constexpr std::size_t kMostRetryItems = 10'000;
Result<std::vector<std::int64_t>> ParseRetry(std::string_view body);
// Nothing, or an object without fields.
Result<void> ParseNothing(std::string_view body);

std::string FormatJob(const Job& job);
std::string FormatJobCounts(const Job& job, const Counts& counts);
// `more`: there are older ones; the next page begins before the last of these.
std::string FormatJobs(const std::vector<Job>& jobs, bool more);
std::string FormatReopened(std::int64_t items, std::int32_t round);
std::string FormatItems(const ItemPage& page);
std::string FormatStats(const Summary& summary);

// Where a page begins, as a word that only we read.
std::string FormatPlace(const ItemPlace& place);
std::optional<ItemPlace> ParsePlace(std::string_view text);

// 2026-05-01T12:03:44.123Z
std::string FormatTime(std::int64_t ms);

}  // namespace tidemill
