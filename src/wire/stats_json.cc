// SPDX-License-Identifier: Apache-2.0
#include "wire/stats_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/outcome.h"
#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

std::string CausesText(const std::array<std::int64_t, kCauses>& counts) {
  std::string out = "{";
  std::int64_t total = 0;
  for (int i = 0; i < kCauses; ++i) {
    const std::int64_t count = counts[static_cast<std::size_t>(i)];
    json::AppendNumber(out, CauseName(static_cast<Cause>(i)), count);
    total += count;
  }
  json::AppendNumber(out, "total", total);
  return out.append("}");
}

// The greatest value is known exactly; a quantile is the middle of its bucket, and must not pass
// it.
std::string HistogramText(const Histogram& histogram, const ColumnRange& range) {
  std::string out = "{";
  const std::int64_t count = histogram.Count();
  json::AppendNumber(out, "count", count);
  if (count > 0) {
    constexpr std::array<std::pair<std::string_view, double>, 4> kQuantiles = {
        {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}};
    for (const auto& [name, q] : kQuantiles) {
      json::AppendNumber(out, name, std::min(histogram.Quantile(q).value_or(0), range.greatest));
    }
    json::AppendNumber(out, "max", range.greatest);
  }
  out.append(",\"buckets\":[");
  bool first = true;
  for (int i = 0; i < Histogram::kBuckets; ++i) {
    if (histogram.CountIn(i) == 0) continue;
    if (!std::exchange(first, false)) out.push_back(',');
    out.push_back('{');
    json::AppendNumber(out, "least", Histogram::LeastOf(i));
    json::AppendNumber(out, "greatest", Histogram::GreatestOf(i));
    json::AppendNumber(out, "count", histogram.CountIn(i));
    out.push_back('}');
  }
  return out.append("]}");
}

std::string TopText(const TopItems& top, std::string_view unit) {
  std::string out = "[";
  for (const TopItems::Entry& entry : top.entries()) {
    if (out.size() > 1) out.push_back(',');
    out.push_back('{');
    json::AppendNumber(out, "item", entry.item);
    json::AppendNumber(out, unit, entry.value);
    out.push_back('}');
  }
  return out.append("]");
}

Result<std::map<std::string, std::int64_t>> ReadCauses(const Fields& stats, std::string_view name) {
  std::map<std::string, std::int64_t> counts;
  const Value* value = stats.Find(name);
  const Path path = stats.In(name);
  if (value == nullptr) return json::Wrong(path, "is missing");
  TIDEMILL_TRY_VOID(Fields::Of(*value, path));
  for (const auto& [cause, count] : value->get_ref<const Value::object_t&>()) {
    TIDEMILL_TRY(counts[cause], json::IntOf(count, {&path, cause, 0}, {}));
  }
  return counts;
}

// A server that is older than a histogram does not send it.
Result<StatsAnswer::Values> ReadValues(const Fields& stats, std::string_view name) {
  StatsAnswer::Values values;
  const Value* value = stats.Find(name);
  if (value == nullptr) return values;
  const Path path = stats.In(name);
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY(values.count, fields.Int("count", {}));
  TIDEMILL_TRY(values.p50, fields.Int("p50", {.absent = 0}));
  TIDEMILL_TRY(values.p90, fields.Int("p90", {.absent = 0}));
  TIDEMILL_TRY(values.p95, fields.Int("p95", {.absent = 0}));
  TIDEMILL_TRY(values.p99, fields.Int("p99", {.absent = 0}));
  TIDEMILL_TRY(values.max, fields.Int("max", {.absent = 0}));
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "buckets", Histogram::kBuckets,
                                   [&](const Fields& element) -> Result<void> {
                                     auto& bucket = values.buckets.emplace_back();
                                     TIDEMILL_TRY(bucket.least, element.Int("least", {}));
                                     TIDEMILL_TRY(bucket.greatest, element.Int("greatest", {}));
                                     TIDEMILL_TRY(bucket.count, element.Int("count", {}));
                                     return {};
                                   }));
  return values;
}

struct TopField {
  std::string_view name;
  std::string_view unit;
};

Result<std::vector<TopItems::Entry>> ReadTop(const Fields& stats, TopField field) {
  constexpr std::size_t kMostTop = 1000;
  std::vector<TopItems::Entry> entries;
  TIDEMILL_TRY_VOID(
      json::ReadEach(stats, field.name, kMostTop, [&](const Fields& element) -> Result<void> {
        auto& entry = entries.emplace_back();
        TIDEMILL_TRY(entry.item, element.Int("item", {}));
        TIDEMILL_TRY(entry.value, element.Int(field.unit, {}));
        return {};
      }));
  return entries;
}

}  // namespace

std::string FormatStats(const Summary& summary, bool partial) {
  std::string out = "{\"attempts\":" + CausesText(summary.attempts);
  json::AppendValue(out, "outcomes", CausesText(summary.outcomes));
  json::AppendValue(out, "duration_ms",
                    HistogramText(summary.duration_ms, summary.duration_range_ms));
  json::AppendValue(out, "memory_bytes",
                    HistogramText(summary.memory_bytes, summary.memory_range_bytes));
  json::AppendValue(out, "cpu_millis", HistogramText(summary.cpu_millis, summary.cpu_range_millis));
  json::AppendValue(out, "slowest", TopText(summary.slowest, "duration_ms"));
  json::AppendValue(out, "largest", TopText(summary.largest, "memory_bytes"));
  json::AppendNumber(out, "unreadable", summary.unreadable);
  json::AppendNumber(out, "dropped", summary.dropped);
  json::AppendFlag(out, "partial", partial);
  return out.append("}");
}

Result<StatsAnswer> ParseStats(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  StatsAnswer answer;
  TIDEMILL_TRY(answer.attempts, ReadCauses(fields, "attempts"));
  TIDEMILL_TRY(answer.outcomes, ReadCauses(fields, "outcomes"));
  TIDEMILL_TRY(answer.duration_ms, ReadValues(fields, "duration_ms"));
  TIDEMILL_TRY(answer.memory_bytes, ReadValues(fields, "memory_bytes"));
  TIDEMILL_TRY(answer.cpu_millis, ReadValues(fields, "cpu_millis"));
  TIDEMILL_TRY(answer.slowest, ReadTop(fields, {"slowest", "duration_ms"}));
  TIDEMILL_TRY(answer.largest, ReadTop(fields, {"largest", "memory_bytes"}));
  TIDEMILL_TRY(answer.unreadable, fields.Int("unreadable", {.absent = 0}));
  TIDEMILL_TRY(answer.dropped, fields.Int("dropped", {.absent = 0}));
  TIDEMILL_TRY(answer.partial, fields.Flag("partial", false));
  return answer;
}

}  // namespace tidemill
