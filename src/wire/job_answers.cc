// SPDX-License-Identifier: Apache-2.0
// What servers say of jobs, as agents and people's programs read it.
#include <limits>
#include <utility>

#include "base/limits.h"
#include "wire/image_digest.h"
#include "wire/job_json.h"
#include "wire/json.h"
#include "wire/spec_needs.h"
#include "wire/spec_wishes.h"
#include "wire/status_json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

// The number of jobs in one answer that we would read: more than any server gives.
constexpr std::size_t kMaxListedJobs = 10'000;
constexpr std::size_t kJobTimeBytes = 32;

Result<std::int32_t> OptionalInt32(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::int64_t number, fields.Int(name, {.most = json::kMaxInt32, .absent = 0}));
  return static_cast<std::int32_t>(number);
}

// The server has checked the spec when it was submitted; of it only what a job needs is read.
Result<JobSpec> ReadSpecOf(const Fields& job) {
  const Value* value = job.Find("spec");
  const Path path = job.In("spec");
  if (value == nullptr) return json::Wrong(path, "is missing");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  ParsedSpec spec;
  TIDEMILL_TRY_VOID(json::ReadNeeds(fields, spec));
  TIDEMILL_TRY_VOID(json::ReadWishes(fields, spec));
  TIDEMILL_TRY(spec.job.name, job.Text("name", {.most_bytes = limits::kNameBytes}));
  spec.job.document = value->dump();
  return std::move(spec.job);
}

Result<Job> ReadJob(const Fields& fields) {
  Job job;
  TIDEMILL_TRY(job.id.number, fields.Int("number", {.least = 1}));
  TIDEMILL_TRY(job.spec, ReadSpecOf(fields));
  TIDEMILL_TRY(const std::string_view state, fields.Text("state", {.most_bytes = 32}));
  const auto known = ParseJobState(state);
  if (!known) return json::Wrong(fields.In("state"), "is not a state that is known here");
  job.state = *known;
  TIDEMILL_TRY(job.open, fields.Flag("open", false));
  TIDEMILL_TRY(job.round, OptionalInt32(fields, "round"));
  TIDEMILL_TRY(job.parts, OptionalInt32(fields, "parts"));
  TIDEMILL_TRY(job.items, fields.Int("items", {.absent = 0}));
  TIDEMILL_TRY(job.reason,
               fields.Text("reason", {.most_bytes = limits::kReasonBytes, .absent = ""}));
  TIDEMILL_TRY(job.memory_bytes,
               fields.Int("memory_bytes", {.most = json::kMostMemory, .absent = 0}));
  TIDEMILL_TRY(job.uid, fields.Text("uid", {.most_bytes = limits::kNameBytes, .absent = ""}));
  if (!job.uid.empty() && !IsName(job.uid)) return json::Wrong(fields.In("uid"), "must be a name");
  TIDEMILL_TRY(job.image_digest, json::ReadImageDigest(fields, "image_digest"));
  TIDEMILL_TRY(job.trial, fields.Flag("trial", false));
  TIDEMILL_TRY(job.objects,
               fields.Text("objects", {.most_bytes = limits::kUrlBytes, .absent = ""}));
  TIDEMILL_TRY(job.project,
               fields.Text("project", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(const std::string_view created,
               fields.Text("created_at", {.most_bytes = kJobTimeBytes, .absent = ""}));
  job.created_ms = ParseTime(created).value_or(0);
  TIDEMILL_TRY(job.owner,
               fields.Text("owner", {.most_bytes = limits::kTokenNameBytes, .absent = ""}));
  return job;
}

Result<std::optional<Counts>> ReadJobCounts(const Fields& job) {
  const Value* value = job.Find("counts");
  if (value == nullptr) return std::nullopt;
  const Path path = job.In("counts");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  Counts counts;
  TIDEMILL_TRY(counts.total, fields.Int("total", {}));
  TIDEMILL_TRY(counts.succeeded, fields.Int("succeeded", {}));
  TIDEMILL_TRY(counts.failed, fields.Int("failed", {}));
  TIDEMILL_TRY(counts.running, fields.Int("running", {}));
  TIDEMILL_TRY(counts.waiting, fields.Int("waiting", {}));
  TIDEMILL_TRY(counts.cancelled, fields.Int("cancelled", {}));
  return std::optional(counts);
}

}  // namespace

Result<Job> ParseJob(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  return ReadJob(fields);
}

Result<std::string> ParseImageNote(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY(const std::string_view note,
               fields.Text("image_note", {.most_bytes = limits::kReasonBytes, .absent = ""}));
  return std::string(note);
}

Result<JobCounts> ParseJobCounts(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY(Job job, ReadJob(fields));
  TIDEMILL_TRY(const std::optional<Counts> counts, ReadJobCounts(fields));
  if (!counts) return json::Wrong(fields.In("counts"), "is missing");
  return JobCounts{std::move(job), *counts};
}

Result<JobsAnswer> ParseJobs(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  JobsAnswer answer;
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "jobs", kMaxListedJobs, [&](const Fields& element) -> Result<void> {
        JobsAnswer::Entry& entry = answer.jobs.emplace_back();
        TIDEMILL_TRY(entry.job, ReadJob(element));
        TIDEMILL_TRY(entry.counts, ReadJobCounts(element));
        return {};
      }));
  TIDEMILL_TRY(answer.next, fields.Text("next", {.most_bytes = json::kNextBytes, .absent = ""}));
  return answer;
}

Result<ReopenedAnswer> ParseReopened(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  ReopenedAnswer answer;
  TIDEMILL_TRY(answer.items, fields.Int("items", {}));
  TIDEMILL_TRY(answer.round, OptionalInt32(fields, "round"));
  return answer;
}

}  // namespace tidemill
