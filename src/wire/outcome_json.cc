// SPDX-License-Identifier: Apache-2.0
#include "wire/outcome_json.h"

#include <charconv>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "wire/json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

// Of an answer that a newer server may have made longer.
constexpr std::size_t kMaxOutcomeRows = 65'536;

// What a program sent back is JSON; what an agent says it sent may be anything.
std::string ResultText(const std::string& result) {
  const auto value = json::Parse(result);
  if (!value) return json::Quoted(result);
  // It may be written in several lines.
  if (result.find_first_of("\r\n") == std::string::npos) return result;
  return value->dump(-1, ' ', false, Value::error_handler_t::replace);
}

// A text as it is: any characters may be in it.
void ReadText(const Fields& fields, std::string_view name, std::string& text) {
  const Value* value = fields.Find(name);
  if (value != nullptr && value->is_string()) text = value->get_ref<const std::string&>();
}

Result<std::int32_t> OutcomeInt32(const Fields& fields, std::string_view name, std::int64_t least) {
  TIDEMILL_TRY(const std::int64_t number,
               fields.Int(name, {.least = least, .most = json::kMaxInt32}));
  return static_cast<std::int32_t>(number);
}

Result<OutcomeRow> ReadRow(const Fields& fields) {
  OutcomeRow row;
  Outcome& outcome = row.outcome;
  TIDEMILL_TRY(outcome.item, fields.Int("item", {}));
  ReadText(fields, "text", row.text);
  TIDEMILL_TRY(outcome.round, OutcomeInt32(fields, "round", 0));
  TIDEMILL_TRY(outcome.attempt, OutcomeInt32(fields, "attempt", 0));
  TIDEMILL_TRY(row.last, fields.Flag("last", false));
  TIDEMILL_TRY(const std::string_view cause, fields.Text("cause", {.most_bytes = 32}));
  // One that a newer server has: what is sure is that it was no success.
  outcome.cause = ParseCause(cause).value_or(Cause::kFailed);
  TIDEMILL_TRY(outcome.exit, OutcomeInt32(fields, "exit", json::kMinInt32));
  std::string start;
  ReadText(fields, "started_at", start);
  outcome.start_ms = ParseTime(start).value_or(0);
  TIDEMILL_TRY(outcome.duration_ms, fields.Int("duration_ms", {.absent = 0}));
  TIDEMILL_TRY(outcome.cpu_ms, fields.Int("cpu_ms", {.absent = 0}));
  TIDEMILL_TRY(outcome.memory_bytes, fields.Int("memory_bytes", {.absent = 0}));
  ReadText(fields, "machine", outcome.machine);
  ReadText(fields, "log", outcome.log);
  ReadText(fields, "error", outcome.error);
  ReadText(fields, "devices", outcome.devices);
  if (const Value* result = fields.Find("result"); result != nullptr && !result->is_null()) {
    outcome.result = result->dump(-1, ' ', false, Value::error_handler_t::replace);
  }
  return row;
}

}  // namespace

// Every field is always there, so that whoever reads the lines as a table finds the same columns in
// each file.
void AppendOutcomeRow(std::string& out, const OutcomeRow& row) {
  const Outcome& outcome = row.outcome;
  out.push_back('{');
  json::AppendNumber(out, "item", outcome.item);
  json::AppendText(out, "text", row.text);
  json::AppendNumber(out, "round", outcome.round);
  json::AppendNumber(out, "attempt", outcome.attempt);
  json::AppendFlag(out, "last", row.last);
  json::AppendText(out, "cause", CauseName(outcome.cause));
  json::AppendNumber(out, "exit", outcome.exit);
  if (outcome.start_ms == 0) {
    json::AppendValue(out, "started_at", "null");  // a lost attempt's: nobody knows
  } else {
    json::AppendText(out, "started_at", FormatTime(outcome.start_ms));
  }
  json::AppendNumber(out, "duration_ms", outcome.duration_ms);
  json::AppendNumber(out, "cpu_ms", outcome.cpu_ms);
  json::AppendNumber(out, "memory_bytes", outcome.memory_bytes);
  json::AppendText(out, "machine", outcome.machine);
  json::AppendText(out, "log", outcome.log);
  json::AppendText(out, "error", outcome.error);
  json::AppendValue(out, "result", outcome.result.empty() ? "null" : ResultText(outcome.result));
  json::AppendText(out, "devices", outcome.devices);
  out.push_back('}');
}

Result<OutcomeRow> ParseOutcomeRow(std::string_view line) {
  TIDEMILL_TRY(const Value value, json::Parse(line));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  return ReadRow(fields);
}

std::string FormatOutcomes(const OutcomePage& page) {
  std::string out = "{\"outcomes\":[";
  for (const OutcomeRow& row : page.rows) {
    if (&row != &page.rows.front()) out.push_back(',');
    AppendOutcomeRow(out, row);
  }
  out.push_back(']');
  if (page.next) json::AppendText(out, "next", FormatOutcomePlace(*page.next));
  return out.append("}");
}

Result<OutcomePage> ParseOutcomes(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  OutcomePage page;
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "outcomes", kMaxOutcomeRows,
                                   [&](const Fields& element) -> Result<void> {
                                     TIDEMILL_TRY(OutcomeRow row, ReadRow(element));
                                     page.rows.push_back(std::move(row));
                                     return {};
                                   }));
  TIDEMILL_TRY(const std::string_view next,
               fields.Text("next", {.most_bytes = json::kNextBytes, .absent = ""}));
  if (next.empty()) return page;
  page.next = ParseOutcomePlace(next);
  if (!page.next) return json::Wrong(fields.In("next"), "is not the place of a page");
  return page;
}

std::string FormatOutcomePlace(const OutcomePlace& place) {
  return std::to_string(place.chunk) + "." + std::to_string(place.item) + "." +
         std::to_string(place.round) + "." + std::to_string(place.attempt);
}

std::optional<OutcomePlace> ParseOutcomePlace(std::string_view text) {
  const auto take = [&text](auto& number, bool last) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc{} || (last ? read.ptr != end : read.ptr == end || *read.ptr != '.')) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()) + (last ? 0 : 1));
    return true;
  };
  OutcomePlace place;
  if (!take(place.chunk, false) || !take(place.item, false) || !take(place.round, false) ||
      !take(place.attempt, true)) {
    return std::nullopt;
  }
  if (place.chunk < 0 || place.item < -1 || place.item >= limits::kItemsPerJob || place.round < 0 ||
      place.attempt < 0) {
    return std::nullopt;
  }
  return place;
}

}  // namespace tidemill
