// SPDX-License-Identifier: Apache-2.0
#include "wire/item_json.h"

#include <charconv>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "wire/json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

std::string OutcomeText(const Outcome& outcome) {
  std::string out = "{";
  json::AppendText(out, "cause", CauseName(outcome.cause));
  json::AppendNumber(out, "exit", outcome.exit);
  json::AppendNumber(out, "attempt", outcome.attempt);
  json::AppendNumber(out, "round", outcome.round);
  json::AppendText(out, "started_at", FormatTime(outcome.start_ms));
  json::AppendNumber(out, "duration_ms", outcome.duration_ms);
  json::AppendNumber(out, "cpu_ms", outcome.cpu_ms);
  json::AppendNumber(out, "memory_bytes", outcome.memory_bytes);
  json::AppendText(out, "machine", outcome.machine);
  if (!outcome.devices.empty()) json::AppendText(out, "devices", outcome.devices);
  return out.append("}");
}

Result<std::optional<Outcome>> ReadOutcome(const Fields& item, std::int64_t number) {
  const Value* value = item.Find("outcome");
  if (value == nullptr) return std::nullopt;
  const Path path = item.In("outcome");
  TIDEMILL_TRY(const Fields fields, Fields::Of(*value, path));
  Outcome outcome;
  outcome.item = number;
  TIDEMILL_TRY(const std::string_view cause, fields.Text("cause", {.most_bytes = 32}));
  // One that a newer server has: what is sure is that it was no success.
  outcome.cause = ParseCause(cause).value_or(Cause::kFailed);
  TIDEMILL_TRY(const std::int64_t exit,
               fields.Int("exit", {.least = json::kMinInt32, .most = json::kMaxInt32}));
  TIDEMILL_TRY(const std::int64_t attempt, fields.Int("attempt", {.most = json::kMaxInt32}));
  TIDEMILL_TRY(const std::int64_t round, fields.Int("round", {.most = json::kMaxInt32}));
  outcome.exit = static_cast<std::int32_t>(exit);
  outcome.attempt = static_cast<std::int32_t>(attempt);
  outcome.round = static_cast<std::int32_t>(round);
  TIDEMILL_TRY(const std::string_view start,
               fields.Text("started_at", {.most_bytes = 64, .absent = ""}));
  outcome.start_ms = ParseTime(start).value_or(0);
  TIDEMILL_TRY(outcome.duration_ms, fields.Int("duration_ms", {.absent = 0}));
  TIDEMILL_TRY(outcome.cpu_ms, fields.Int("cpu_ms", {.absent = 0}));
  TIDEMILL_TRY(outcome.memory_bytes, fields.Int("memory_bytes", {.absent = 0}));
  TIDEMILL_TRY(outcome.machine,
               fields.Text("machine", {.most_bytes = limits::kMachineNameBytes, .absent = ""}));
  TIDEMILL_TRY(outcome.devices,
               fields.Text("devices", {.most_bytes = kOutcomeDevicesBytes, .absent = ""}));
  return std::optional(std::move(outcome));
}

Result<ListedItem> ReadItem(const Fields& fields) {
  ListedItem item;
  TIDEMILL_TRY(item.item, fields.Int("item", {}));
  TIDEMILL_TRY(const std::string_view state, fields.Text("state", {.most_bytes = 32}));
  const auto known = ParseItemState(state);
  if (!known) return json::Wrong(fields.In("state"), "is not a state that is known here");
  item.state = *known;
  // An item is any text: tabs and the like may be in it.
  if (const Value* text = fields.Find("text"); text != nullptr && text->is_string()) {
    item.text = text->get_ref<const std::string&>();
  }
  TIDEMILL_TRY(item.attempts, fields.Int("attempts", {.absent = 0}));
  TIDEMILL_TRY(item.outcome, ReadOutcome(fields, item.item));
  return item;
}

}  // namespace

std::string FormatItems(const ItemPage& page) {
  std::string out = "{\"items\":[";
  for (const ListedItem& item : page.items) {
    out.append(&item == &page.items.front() ? "{" : ",{");
    json::AppendNumber(out, "item", item.item);
    json::AppendText(out, "state", ItemStateName(item.state));
    json::AppendText(out, "text", item.text);
    if (item.outcome) {
      json::AppendNumber(out, "attempts", item.attempts);
      json::AppendValue(out, "outcome", OutcomeText(*item.outcome));
    }
    out.push_back('}');
  }
  out.push_back(']');
  if (page.next) json::AppendText(out, "next", FormatPlace(*page.next));
  return out.append("}");
}

Result<ItemPage> ParseItems(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  ItemPage page;
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "items", limits::kPageRows,
                                   [&](const Fields& element) -> Result<void> {
                                     TIDEMILL_TRY(ListedItem item, ReadItem(element));
                                     page.items.push_back(std::move(item));
                                     return {};
                                   }));
  TIDEMILL_TRY(const std::string_view next,
               fields.Text("next", {.most_bytes = json::kNextBytes, .absent = ""}));
  if (next.empty()) return page;
  page.next = ParsePlace(next);
  if (!page.next) return json::Wrong(fields.In("next"), "is not the place of a page");
  return page;
}

void AppendItemLine(std::string& out, std::int64_t item, std::string_view text) {
  out.push_back('{');
  json::AppendNumber(out, "item", item);
  json::AppendText(out, "text", text);
  out.append("}\n");
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

}  // namespace tidemill
