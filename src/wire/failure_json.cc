// SPDX-License-Identifier: Apache-2.0
#include "wire/failure_json.h"

#include <limits>
#include <utility>

#include "base/limits.h"
#include "report/signature.h"
#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

constexpr std::size_t kMostGroups = 1000;
constexpr std::size_t kMostFirst = 100;

std::string GroupText(const FailureGroup& group, std::size_t number) {
  std::string out = "{";
  json::AppendNumber(out, "group", static_cast<std::int64_t>(number));
  json::AppendText(out, "signature", group.key.signature);
  json::AppendText(out, "cause", CauseName(group.key.cause));
  json::AppendNumber(out, "count", group.count);
  std::string first = "[";
  for (const std::int64_t item : group.first_items) {
    if (first.size() > 1) first.push_back(',');
    first += std::to_string(item);
  }
  json::AppendValue(out, "first_items", first + "]");
  std::string example = "{";
  json::AppendNumber(example, "item", group.example.item);
  json::AppendNumber(example, "round", group.example.round);
  json::AppendNumber(example, "attempt", group.example.attempt);
  json::AppendNumber(example, "exit", group.example.exit);
  json::AppendText(example, "machine", group.example.machine);
  json::AppendValue(out, "example", example + "}");
  return out.append("}");
}

Result<void> ReadExample(const Fields& group, Outcome& example) {
  const Value* value = group.Find("example");
  if (value == nullptr) return {};
  const Path path = group.In("example");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  TIDEMILL_TRY(example.item, fields.Int("item", {}));
  TIDEMILL_TRY(const std::int64_t exit,
               fields.Int("exit", {.least = json::kMinInt32, .most = json::kMaxInt32}));
  TIDEMILL_TRY(const std::int64_t round,
               fields.Int("round", {.most = json::kMaxInt32, .absent = 0}));
  TIDEMILL_TRY(const std::int64_t attempt,
               fields.Int("attempt", {.most = json::kMaxInt32, .absent = 1}));
  example.exit = static_cast<std::int32_t>(exit);
  example.round = static_cast<std::int32_t>(round);
  example.attempt = static_cast<std::int32_t>(attempt);
  TIDEMILL_TRY(example.machine,
               fields.Text("machine", {.most_bytes = limits::kMachineNameBytes, .absent = ""}));
  return {};
}

Result<FailureGroup> ReadGroup(const Fields& fields) {
  FailureGroup group;
  // In JSON, bytes that are no text have become longer ones.
  TIDEMILL_TRY(group.key.signature,
               fields.Text("signature", {.most_bytes = 4 * kSignatureBytes, .absent = ""}));
  TIDEMILL_TRY(const std::string_view cause, fields.Text("cause", {.most_bytes = 32}));
  group.key.cause = ParseCause(cause).value_or(Cause::kFailed);
  TIDEMILL_TRY(group.count, fields.Int("count", {}));
  TIDEMILL_TRY(const Value* first, fields.Array("first_items", kMostFirst));
  if (first != nullptr) {
    const Path in_array = fields.In("first_items");
    for (const Value& element : *first) {
      const Path path{&in_array, {}, group.first_items.size()};
      TIDEMILL_TRY(const std::int64_t item, json::IntOf(element, path, {}));
      group.first_items.push_back(item);
    }
  }
  group.example.cause = group.key.cause;
  group.example.error = group.key.signature;
  TIDEMILL_TRY_VOID(ReadExample(fields, group.example));
  return group;
}

}  // namespace

std::string FormatFailures(const FailureSummary& summary) {
  std::string out = "{";
  json::AppendNumber(out, "failed", summary.failed);
  std::string groups = "[";
  for (std::size_t i = 0; i < summary.groups.size(); ++i) {
    if (i > 0) groups.push_back(',');
    groups += GroupText(summary.groups[i], i + 1);
  }
  json::AppendValue(out, "groups", groups + "]");
  std::string rest = "{";
  json::AppendNumber(rest, "groups", summary.rest_groups);
  json::AppendNumber(rest, "count", summary.rest_items);
  json::AppendValue(out, "rest", rest + "}");
  json::AppendFlag(out, "partial", summary.partial);
  return out.append("}");
}

Result<FailureSummary> ParseFailures(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  FailureSummary summary;
  TIDEMILL_TRY(summary.failed, fields.Int("failed", {}));
  TIDEMILL_TRY(summary.partial, fields.Flag("partial", false));
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "groups", kMostGroups, [&](const Fields& element) -> Result<void> {
        TIDEMILL_TRY(FailureGroup group, ReadGroup(element));
        summary.groups.push_back(std::move(group));
        return {};
      }));
  if (const Value* rest = fields.Find("rest")) {
    const Path path = fields.In("rest");
    TIDEMILL_TRY(const Fields in_rest, Fields::Of(*rest, path));
    TIDEMILL_TRY(summary.rest_groups, in_rest.Int("groups", {.absent = 0}));
    TIDEMILL_TRY(summary.rest_items, in_rest.Int("count", {.absent = 0}));
  }
  return summary;
}

}  // namespace tidemill
