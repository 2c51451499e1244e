// SPDX-License-Identifier: Apache-2.0
#include "wire/job_json.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "model/outcome.h"
#include "wire/json.h"
#include "wire/size.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();
constexpr int kDefaultRetries = 3;
constexpr std::int64_t kMostMillicpus = 1'000'000'000;
constexpr std::int64_t kMostMemory = std::int64_t{1} << 60;

Result<std::int64_t> ReadMemory(const Fields& fields) {
  const Value* value = fields.Find("memory");
  if (value == nullptr || !value->is_string()) {
    return fields.Int("memory", {.least = 0, .most = kMostMemory, .absent = 0});
  }
  const auto bytes = ParseSize(value->get_ref<const std::string&>());
  if (!bytes) return json::Wrong(fields.In("memory"), "must be a size such as \"4GiB\"");
  return *bytes;
}

Result<Resources> ReadResources(const Fields& spec) {
  Resources resources;
  const Value* value = spec.Find("resources");
  if (value == nullptr) return resources;
  const Path path = spec.In("resources");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY_VOID(fields.Only({"cpus", "memory", "devices"}));
  TIDEMILL_TRY(resources.millicpus,
               fields.Millicpus("cpus", {.least = 1, .most = kMostMillicpus, .absent = 1000}));
  TIDEMILL_TRY(resources.memory_bytes, ReadMemory(fields));
  return resources;
}

// The request's own, or the spec's; if both are there they are the same.
Result<std::string> ReadName(const Fields& request, const Fields& spec) {
  TIDEMILL_TRY(const std::string_view outer,
               request.Text("name", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(const std::string_view inner,
               spec.Text("name", {.most_bytes = limits::kNameBytes, .absent = ""}));
  const Path path = outer.empty() && !inner.empty() ? spec.In("name") : request.In("name");
  const std::string_view name = outer.empty() ? inner : outer;
  if (name.empty()) return json::Wrong(path, "is missing");
  if (!IsName(name)) {
    return json::Wrong(
        path, "must be letters, digits, '.', '_' and '-', and begin with a letter or digit");
  }
  if (!inner.empty() && inner != name) {
    return json::Wrong(spec.In("name"), "is another one than the request's own name");
  }
  return std::string(name);
}

Result<JobSpec> ReadSpec(const Fields& request) {
  const Value* value = request.Find("spec");
  const Path path = request.In("spec");
  if (value == nullptr) return json::Wrong(path, "is missing");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  JobSpec spec;
  TIDEMILL_TRY(spec.name, ReadName(request, fields));
  TIDEMILL_TRY(spec.resources, ReadResources(fields));
  TIDEMILL_TRY(
      const std::int64_t retries,
      fields.Int("retries", {.least = 0, .most = limits::kMaxRetries, .absent = kDefaultRetries}));
  spec.retries = static_cast<int>(retries);
  spec.document = value->dump();
  if (spec.document.size() > limits::kSpecBytes) {
    return json::Wrong(path, "is more than " + std::to_string(limits::kSpecBytes) + " bytes");
  }
  return spec;
}

void AppendNumber(std::string& out, std::string_view field, std::int64_t number) {
  if (out.back() != '{') out.push_back(',');
  out.append("\"").append(field).append("\":").append(std::to_string(number));
}

void AppendText(std::string& out, std::string_view field, std::string_view text) {
  if (out.back() != '{') out.push_back(',');
  out.append("\"").append(field).append("\":").append(json::Quoted(text));
}

std::string CausesText(const std::array<std::int64_t, kCauses>& counts) {
  std::string out = "{";
  std::int64_t total = 0;
  for (int i = 0; i < kCauses; ++i) {
    const std::int64_t count = counts[static_cast<std::size_t>(i)];
    AppendNumber(out, CauseName(static_cast<Cause>(i)), count);
    total += count;
  }
  AppendNumber(out, "total", total);
  return out.append("}");
}

// The greatest value is known exactly; a quantile is the middle of its bucket, and must not pass
// it.
std::string HistogramText(const Histogram& histogram, const ColumnRange& range) {
  std::string out = "{";
  const std::int64_t count = histogram.Count();
  AppendNumber(out, "count", count);
  if (count > 0) {
    constexpr std::array<std::pair<std::string_view, double>, 4> kQuantiles = {
        {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}};
    for (const auto& [name, q] : kQuantiles) {
      AppendNumber(out, name, std::min(histogram.Quantile(q).value_or(0), range.greatest));
    }
    AppendNumber(out, "max", range.greatest);
  }
  out.append(",\"buckets\":[");
  bool first = true;
  for (int i = 0; i < Histogram::kBuckets; ++i) {
    if (histogram.CountIn(i) == 0) continue;
    if (!std::exchange(first, false)) out.push_back(',');
    out.push_back('{');
    AppendNumber(out, "least", Histogram::LeastOf(i));
    AppendNumber(out, "greatest", Histogram::GreatestOf(i));
    AppendNumber(out, "count", histogram.CountIn(i));
    out.push_back('}');
  }
  return out.append("]}");
}

std::string TopText(const TopItems& top, std::string_view unit) {
  std::string out = "[";
  for (const TopItems::Entry& entry : top.entries()) {
    if (out.size() > 1) out.push_back(',');
    out.push_back('{');
    AppendNumber(out, "item", entry.item);
    AppendNumber(out, unit, entry.value);
    out.push_back('}');
  }
  return out.append("]");
}

// A job without its closing brace.
std::string OpenJob(const Job& job) {
  std::string out = "{";
  AppendText(out, "id", PublicId(job));
  AppendNumber(out, "number", job.id.number);
  AppendText(out, "name", job.spec.name);
  AppendText(out, "state", JobStateName(job.state));
  out.append(job.open ? ",\"open\":true" : ",\"open\":false");
  AppendNumber(out, "round", job.round);
  AppendNumber(out, "parts", job.parts);
  AppendNumber(out, "items", job.items);
  AppendText(out, "created_at", FormatTime(job.created_ms));
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
  TIDEMILL_TRY(const std::int64_t parts, fields.Int("parts", {.least = 0, .most = kMostInt32}));
  return static_cast<std::int32_t>(parts);
}

Result<std::vector<std::int64_t>> ParseRetry(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"failed", "items"}));
  TIDEMILL_TRY(const bool failed, fields.Flag("failed", false));
  TIDEMILL_TRY(const Value* array, fields.Array("items", kMostRetryItems));
  std::vector<std::int64_t> items;
  if (failed == (array != nullptr)) {
    return json::Wrong({}, "say either \"failed\": true or which \"items\"");
  }
  if (failed) return items;
  const Path in_array = fields.In("items");
  if (array->empty()) return json::Wrong(in_array, "must not be empty");
  for (const Value& element : *array) {
    const Path path{&in_array, {}, items.size()};
    TIDEMILL_TRY(const std::int64_t item,
                 json::IntOf(element, path, {.least = 0, .most = limits::kItemsPerJob - 1}));
    items.push_back(item);
  }
  return items;
}

Result<void> ParseNothing(std::string_view body) {
  if (body.empty()) return {};
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  return fields.Only({});
}

std::string FormatJob(const Job& job) { return OpenJob(job).append("}"); }

std::string FormatJobCounts(const Job& job, const Counts& counts) {
  std::string out = OpenJob(job).append(",\"counts\":{");
  AppendNumber(out, "total", counts.total);
  AppendNumber(out, "succeeded", counts.succeeded);
  AppendNumber(out, "failed", counts.failed);
  AppendNumber(out, "running", counts.running);
  AppendNumber(out, "waiting", counts.waiting);
  AppendNumber(out, "cancelled", counts.cancelled);
  return out.append("}}");
}

std::string FormatJobs(const std::vector<Job>& jobs, bool more) {
  std::string out = "{\"jobs\":[";
  for (const Job& job : jobs) {
    if (&job != &jobs.front()) out.push_back(',');
    out.append(FormatJob(job));
  }
  out.push_back(']');
  if (more && !jobs.empty()) AppendText(out, "next", std::to_string(jobs.back().id.number));
  return out.append("}");
}

std::string FormatReopened(std::int64_t items, std::int32_t round) {
  std::string out = "{";
  AppendNumber(out, "items", items);
  AppendNumber(out, "round", round);
  return out.append("}");
}

std::string FormatItems(const ItemPage& page) {
  std::string out = "{\"items\":[";
  for (const ListedItem& item : page.items) {
    if (&item != &page.items.front()) out.push_back(',');
    out.push_back('{');
    AppendNumber(out, "item", item.item);
    AppendText(out, "state", ItemStateName(item.state));
    AppendText(out, "text", item.text);
    out.push_back('}');
  }
  out.push_back(']');
  if (page.next) AppendText(out, "next", FormatPlace(*page.next));
  return out.append("}");
}

std::string FormatStats(const Summary& summary) {
  std::string out = "{\"attempts\":" + CausesText(summary.attempts);
  out.append(",\"outcomes\":").append(CausesText(summary.outcomes));
  out.append(",\"duration_ms\":");
  out.append(HistogramText(summary.duration_ms, summary.duration_range_ms));
  out.append(",\"memory_bytes\":");
  out.append(HistogramText(summary.memory_bytes, summary.memory_range_bytes));
  out.append(",\"slowest\":").append(TopText(summary.slowest, "duration_ms"));
  out.append(",\"largest\":").append(TopText(summary.largest, "memory_bytes"));
  AppendNumber(out, "unreadable", summary.unreadable);
  AppendNumber(out, "dropped", summary.dropped);
  return out.append("}");
}

std::string FormatPlace(const ItemPlace& place) {
  return std::to_string(place.chunk) + "." + std::to_string(place.offset);
}

std::optional<ItemPlace> ParsePlace(std::string_view text) {
  ItemPlace place;
  const char* const end = text.data() + text.size();
  const auto chunk = std::from_chars(text.data(), end, place.chunk);
  if (chunk.ec != std::errc{} || chunk.ptr == end || *chunk.ptr != '.') return std::nullopt;
  const auto offset = std::from_chars(chunk.ptr + 1, end, place.offset);
  if (offset.ec != std::errc{} || offset.ptr != end) return std::nullopt;
  if (place.chunk < 0 || place.offset < 0 || place.offset >= limits::kItemsPerChunk) {
    return std::nullopt;
  }
  return place;
}

std::string FormatTime(std::int64_t ms) {
  using std::chrono::days;
  using std::chrono::milliseconds;
  const std::chrono::sys_time<milliseconds> time{milliseconds(ms)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss<milliseconds> clock{time - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  return text.data();
}

}  // namespace tidemill
