// SPDX-License-Identifier: Apache-2.0
#include "wire/job_json.h"

#include <limits>
#include <utility>

#include "base/limits.h"
#include "report/signature.h"
#include "wire/json.h"
#include "wire/pool_machines.h"
#include "wire/settings_json.h"
#include "wire/spec_code.h"
#include "wire/spec_value.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

// The request's own, or the spec's; if both are there they are the same.
Result<std::string> ReadName(const Fields& request, const std::string& inner) {
  TIDEMILL_TRY(const std::string outer, json::ReadJobName(request));
  if (outer.empty() && inner.empty()) return json::Wrong(request.In("name"), "is missing");
  if (!outer.empty() && !inner.empty() && inner != outer) {
    const Path path = request.In("spec");
    return json::Wrong(Path{&path, "name", 0}, "is another one than the request's own name");
  }
  return outer.empty() ? inner : outer;
}

Result<JobSpec> ReadSpec(const Fields& request) {
  const Value* value = request.Find("spec");
  if (value == nullptr) return json::Wrong(request.In("spec"), "is missing");
  TIDEMILL_TRY(ParsedSpec parsed, json::ReadSpec(*value, request.In("spec")));
  TIDEMILL_TRY(parsed.job.name, ReadName(request, parsed.job.name));
  TIDEMILL_TRY_VOID(json::CheckStoredCode(parsed.run.code, request.In("spec")));
  return std::move(parsed.job);
}

// What it asks of whoever decides what runs next; only what is set, but for the queue.
void AppendWishes(std::string& out, const Job& job) {
  const JobWishes& wishes = job.spec.wishes;
  if (!job.owner.empty()) json::AppendText(out, "owner", job.owner);
  json::AppendText(out, "queue", wishes.queue.empty() ? kDefaultQueue : wishes.queue);
  if (wishes.priority != 0) json::AppendNumber(out, "priority", wishes.priority);
  if (wishes.deadline) {
    json::AppendText(out, "deadline_at", FormatTime(job.created_ms + wishes.deadline->count()));
  }
  if (wishes.budget) json::AppendValue(out, "budget", DollarsText(*wishes.budget));
  if (wishes.max_parallel) json::AppendNumber(out, "max_parallel", *wishes.max_parallel);
  if (!wishes.labels.empty()) json::AppendValue(out, "labels", json::LabelsText(wishes.labels));
  if (wishes.after.empty()) return;
  std::string after = "[";
  for (const JobId& other : wishes.after) {
    after.append(after.size() > 1 ? "," : "").append(std::to_string(other.number));
  }
  json::AppendValue(out, "after", after + "]");
}

// A job without its closing brace.
std::string OpenJob(const Job& job) {
  std::string out = "{";
  json::AppendText(out, "id", PublicId(job));
  json::AppendNumber(out, "number", job.id.number);
  json::AppendText(out, "name", job.spec.name);
  json::AppendText(out, "state", JobStateName(job.state));
  json::AppendFlag(out, "open", job.open);
  json::AppendNumber(out, "round", job.round);
  json::AppendNumber(out, "parts", job.parts);
  json::AppendNumber(out, "items", job.items);
  json::AppendText(out, "created_at", FormatTime(job.created_ms));
  if (!job.reason.empty()) json::AppendText(out, "reason", job.reason);
  if (job.memory_bytes > 0) json::AppendNumber(out, "memory_bytes", job.memory_bytes);
  if (!job.uid.empty()) json::AppendText(out, "uid", job.uid);
  if (!job.image_digest.empty()) json::AppendText(out, "image_digest", job.image_digest);
  if (job.trial) json::AppendFlag(out, "trial", true);
  if (!job.objects.empty()) json::AppendText(out, "objects", job.objects);
  if (!job.project.empty()) json::AppendText(out, "project", job.project);
  AppendWishes(out, job);
  // It is JSON since it was stored.
  out.append(",\"spec\":").append(job.spec.document.empty() ? "{}" : job.spec.document);
  return out;
}

}  // namespace

Result<NewJob> ParseNewJob(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"name", "key", "open", "spec"}));
  NewJob job;
  job.project = "default";
  TIDEMILL_TRY(job.key, fields.Text("key", {.most_bytes = limits::kKeyBytes, .absent = ""}));
  if (fields.Find("key") != nullptr && job.key.empty()) {
    return json::Wrong(fields.In("key"), "must not be empty; leave it away to get a new job");
  }
  TIDEMILL_TRY(job.open, fields.Flag("open", false));
  TIDEMILL_TRY(job.spec, ReadSpec(fields));
  return job;
}

Result<std::int64_t> ParseRange(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"range"}));
  return fields.Int("range", {.least = 1, .most = limits::kItemsPerRangePart});
}

Result<std::int32_t> ParseSeal(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"parts"}));
  TIDEMILL_TRY(const std::int64_t parts,
               fields.Int("parts", {.least = 0, .most = json::kMaxInt32}));
  return static_cast<std::int32_t>(parts);
}

namespace {

Result<FailureKey> ReadFailureKey(const Value& value, const Path& path) {
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, path));
  TIDEMILL_TRY_VOID(fields.Only({"signature", "cause"}));
  FailureKey key;
  TIDEMILL_TRY(key.signature, fields.Text("signature", {.most_bytes = kSignatureBytes}));
  TIDEMILL_TRY(const std::string_view name, fields.Text("cause", {.most_bytes = 32}));
  const auto cause = ParseCause(name);
  if (!cause) return json::Wrong(fields.In("cause"), "is no cause");
  key.cause = *cause;
  return key;
}

}  // namespace

Result<RetryRequest> ParseRetry(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"failed", "items", "group"}));
  TIDEMILL_TRY(const bool failed, fields.Flag("failed", false));
  TIDEMILL_TRY(const Value* array, fields.Array("items", kMostRetryItems));
  const Value* group = fields.Find("group");
  RetryRequest retry;
  if ((failed ? 1 : 0) + (array != nullptr ? 1 : 0) + (group != nullptr ? 1 : 0) != 1) {
    return json::Wrong({}, "say either \"failed\": true, or which \"items\", or which \"group\"");
  }
  if (failed) return retry;
  if (group != nullptr) {
    TIDEMILL_TRY(retry.group, ReadFailureKey(*group, fields.In("group")));
    return retry;
  }
  const Path in_array = fields.In("items");
  if (array->empty()) return json::Wrong(in_array, "must not be empty");
  for (const Value& element : *array) {
    const Path path{&in_array, {}, retry.items.size()};
    TIDEMILL_TRY(const std::int64_t item,
                 json::IntOf(element, path, {.least = 0, .most = limits::kItemsPerJob - 1}));
    retry.items.push_back(item);
  }
  return retry;
}

Result<void> ParseNothing(std::string_view body) {
  if (body.empty()) return {};
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  return fields.Only({});
}

std::string FormatJob(const Job& job) { return OpenJob(job).append("}"); }

std::string FormatMadeJob(const Job& job, std::string_view image_note) {
  std::string out = OpenJob(job);
  const std::string_view note = image_note.substr(0, limits::kReasonBytes);
  if (!note.empty()) json::AppendText(out, "image_note", note);
  return out.append("}");
}

std::string FormatJobCounts(const JobCounts& shown) {
  const Counts& counts = shown.counts;
  std::string out = OpenJob(shown.job).append(",\"counts\":{");
  json::AppendNumber(out, "total", counts.total);
  json::AppendNumber(out, "succeeded", counts.succeeded);
  json::AppendNumber(out, "failed", counts.failed);
  json::AppendNumber(out, "running", counts.running);
  json::AppendNumber(out, "waiting", counts.waiting);
  json::AppendNumber(out, "cancelled", counts.cancelled);
  return out.append("}}");
}

std::string FormatJobs(const std::vector<Job>& jobs, bool more) {
  std::string out = "{\"jobs\":[";
  for (const Job& job : jobs) {
    if (&job != &jobs.front()) out.push_back(',');
    out.append(FormatJob(job));
  }
  out.push_back(']');
  if (more && !jobs.empty()) json::AppendText(out, "next", std::to_string(jobs.back().id.number));
  return out.append("}");
}

std::string FormatJobs(const std::vector<JobCounts>& jobs, bool more) {
  std::string out = "{\"jobs\":[";
  for (const JobCounts& shown : jobs) {
    if (&shown != &jobs.front()) out.push_back(',');
    out.append(FormatJobCounts(shown));
  }
  out.push_back(']');
  if (more && !jobs.empty()) {
    json::AppendText(out, "next", std::to_string(jobs.back().job.id.number));
  }
  return out.append("}");
}

std::string FormatReopened(std::int64_t items, std::int32_t round) {
  std::string out = "{";
  json::AppendNumber(out, "items", items);
  json::AppendNumber(out, "round", round);
  return out.append("}");
}

}  // namespace tidemill
