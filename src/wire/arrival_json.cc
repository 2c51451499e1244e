// SPDX-License-Identifier: Apache-2.0
#include "wire/arrival_json.h"

#include "base/limits.h"
#include "wire/job_json.h"
#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

Result<Arrival> ReadArrival(const Fields& fields) {
  TIDEMILL_TRY_VOID(fields.Only({"item", "once"}));
  Arrival arrival;
  // Read by hand: an item may have tabs, which no other text of ours may.
  const Value* const item = fields.Find("item");
  if (item == nullptr) return json::Wrong(fields.In("item"), "is missing");
  if (!item->is_string()) return json::Wrong(fields.In("item"), "must be a text");
  arrival.item = item->get<std::string>();
  if (arrival.item.empty() || arrival.item.size() > limits::kItemBytes) {
    return json::Wrong(fields.In("item"),
                       "must have 1 to " + std::to_string(limits::kItemBytes) + " bytes");
  }
  if (arrival.item.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) {
    return json::Wrong(fields.In("item"), "must be one line of text");
  }
  if (fields.Find("once") == nullptr) return arrival;
  TIDEMILL_TRY(arrival.once, fields.Text("once", {.most_bytes = kOnceBytes}));
  return arrival;
}

}  // namespace

Result<std::vector<Arrival>> ParseArrivals(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"items"}));
  std::vector<Arrival> arrivals;
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "items", kMostArrivals,
                                   [&arrivals](const Fields& element) -> Result<void> {
                                     TIDEMILL_TRY(Arrival arrival, ReadArrival(element));
                                     arrivals.push_back(std::move(arrival));
                                     return {};
                                   }));
  if (arrivals.empty()) return json::Wrong(fields.In("items"), "must have at least one");
  return arrivals;
}

std::string FormatArrivals(const std::vector<Arrival>& arrivals) {
  std::string out = "{\"items\":[";
  for (const Arrival& arrival : arrivals) {
    if (&arrival != &arrivals.front()) out.push_back(',');
    out.push_back('{');
    json::AppendText(out, "item", arrival.item);
    if (!arrival.once.empty()) json::AppendText(out, "once", arrival.once);
    out.push_back('}');
  }
  return out.append("]}");
}

std::string FormatAdded(const AddedAnswer& added) {
  std::string out = FormatJob(added.job);
  out.pop_back();
  if (added.first) {
    json::AppendNumber(out, "first", *added.first);
  } else {
    json::AppendValue(out, "first", "null");
  }
  json::AppendNumber(out, "added", added.added);
  json::AppendNumber(out, "known", added.known);
  return out.append("}");
}

Result<AddedAnswer> ParseAdded(std::string_view body) {
  AddedAnswer added;
  TIDEMILL_TRY(added.job, ParseJob(body));
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  const Value* const first = fields.Find("first");
  if (first != nullptr && !first->is_null()) {
    TIDEMILL_TRY(added.first, fields.Int("first", {}));
  }
  TIDEMILL_TRY(added.added, fields.Int("added", {}));
  TIDEMILL_TRY(added.known, fields.Int("known", {}));
  return added;
}

}  // namespace tidemill
