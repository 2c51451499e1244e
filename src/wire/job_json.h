// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "report/failure_groups.h"

// What people's programs say about jobs, as the bodies of the calls under /v1/jobs. They are read
// strictly: a field that is not known is an error that names the nearest one. In answers such a
// field is passed over, so that a newer server can be talked to.
namespace tidemill {

// POST /v1/jobs. The key is empty if there was none. The spec's document is the object that was
// sent, with all its fields, in one spelling: fields sorted, no spaces.
Result<NewJob> ParseNewJob(std::string_view body);
// PUT .../parts/{number}, as {"range": N}
Result<std::int64_t> ParseRange(std::string_view body);
// POST .../seal: the number of parts.
Result<std::int32_t> ParseSeal(std::string_view body);
// POST .../retry: these items, or those that have failed alike, or else all that have failed.
inline constexpr std::size_t kMostRetryItems = 10'000;
struct RetryRequest {
  std::vector<std::int64_t> items = {};
  std::optional<FailureKey> group = {};
  bool operator==(const RetryRequest&) const = default;
};
Result<RetryRequest> ParseRetry(std::string_view body);
// Nothing, or an object without fields.
Result<void> ParseNothing(std::string_view body);

std::string FormatJob(const Job& job);
// The answer to POST /v1/jobs: with why its image is not pinned, if that is worth a word.
std::string FormatMadeJob(const Job& job, std::string_view image_note);
Result<std::string> ParseImageNote(std::string_view body);
// A job, with its counts or without. Its project and key are not in the answer, and its chunks
// neither.
Result<Job> ParseJob(std::string_view body);

std::string FormatJobCounts(const JobCounts& shown);
Result<JobCounts> ParseJobCounts(std::string_view body);

// `more`: there are older ones; the next page begins before the last of these.
std::string FormatJobs(const std::vector<Job>& jobs, bool more);
std::string FormatJobs(const std::vector<JobCounts>& jobs, bool more);
struct JobsAnswer {
  struct Entry {
    Job job;
    std::optional<Counts> counts;  // if they were asked for
  };
  std::vector<Entry> jobs;
  std::string next;  // what `before` must be for the next page; empty: there is none
};
Result<JobsAnswer> ParseJobs(std::string_view body);

std::string FormatReopened(std::int64_t items, std::int32_t round);
struct ReopenedAnswer {
  std::int64_t items = 0;
  std::int32_t round = 0;
};
Result<ReopenedAnswer> ParseReopened(std::string_view body);

}  // namespace tidemill
