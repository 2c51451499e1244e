// SPDX-License-Identifier: Apache-2.0
#include "wire/one_item_json.h"

#include <limits>
#include <utility>

#include "base/limits.h"
#include "wire/job_json.h"
#include "wire/json.h"
#include "wire/outcome_json.h"
#include "wire/secret_json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

// Any characters may be in it.
std::string OptionalText(const Fields& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

Result<std::int32_t> Int32(const Fields& fields, std::string_view name, std::int64_t least) {
  TIDEMILL_TRY(const std::int64_t number,
               fields.Int(name, {.least = least, .most = json::kMaxInt32}));
  return static_cast<std::int32_t>(number);
}

std::string RowText(const Outcome& outcome, const std::string& text = {}) {
  std::string row;
  AppendOutcomeRow(row, {outcome, text, true});
  return row;
}

void AppendEnd(std::string& out, const OneEnd& end, const std::string& text) {
  if (end.outcome) json::AppendValue(out, "outcome", RowText(*end.outcome, text));
  if (!end.outcome) json::AppendText(out, "reason", end.reason);
}

}  // namespace

std::string FormatOneItem(const OneItem& item) {
  std::string out = "{";
  json::AppendValue(out, "job", FormatJob(item.job));
  json::AppendNumber(out, "item", item.item);
  json::AppendText(out, "text", item.text);
  json::AppendNumber(out, "round", item.round);
  json::AppendNumber(out, "attempt", item.attempt);
  json::AppendNumber(out, "memory_bytes", item.memory_bytes);
  json::AppendText(out, "out", item.out);
  std::string volumes = "{";
  for (const auto& [name, folder] : item.volumes) json::AppendText(volumes, name, folder);
  json::AppendValue(out, "volumes", volumes + "}");
  json::AppendValue(out, "values", FormatSecretValues(item.secrets));
  return out.append("}");
}

Result<OneItem> ParseOneItem(std::string_view text) {
  TIDEMILL_TRY(const Value value, json::Parse(text));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  const Value* job = fields.Find("job");
  if (job == nullptr) return json::Wrong(fields.In("job"), "is missing");
  OneItem item;
  TIDEMILL_TRY(item.job, ParseJob(job->dump()));
  TIDEMILL_TRY(item.item, fields.Int("item", {.most = limits::kItemsPerJob - 1}));
  item.text = OptionalText(fields, "text");
  TIDEMILL_TRY(item.round, Int32(fields, "round", 0));
  TIDEMILL_TRY(item.attempt, Int32(fields, "attempt", 1));
  TIDEMILL_TRY(item.memory_bytes, fields.Int("memory_bytes", {.absent = 0}));
  item.out = OptionalText(fields, "out");
  if (const Value* volumes = fields.Find("volumes"); volumes != nullptr && volumes->is_object()) {
    for (const auto& [name, folder] : volumes->items()) {
      if (folder.is_string()) item.volumes[name] = folder.get<std::string>();
    }
  }
  const Value* secrets = fields.Find("values");
  if (secrets != nullptr) {
    TIDEMILL_TRY(item.secrets, ParseSecretValues(secrets->dump()));
  }
  return item;
}

std::string FormatOneEnd(const OneEnd& end) {
  std::string out = "{";
  AppendEnd(out, end, "");
  return out.append("}");
}

Result<OneEnd> ParseOneEnd(std::string_view text) {
  TIDEMILL_TRY(const Value value, json::Parse(text));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  OneEnd end;
  end.reason = OptionalText(fields, "reason");
  if (const Value* outcome = fields.Find("outcome"); outcome != nullptr) {
    TIDEMILL_TRY(OutcomeRow row, ParseOutcomeRow(outcome->dump()));
    end.outcome = std::move(row.outcome);
  }
  return end;
}

std::string FormatHereAnswer(const HereAnswer& answer) {
  std::string out = "{";
  json::AppendText(out, "job", answer.job);
  AppendEnd(out, answer.end, answer.text);
  if (!answer.out.empty()) json::AppendText(out, "out", answer.out);
  if (answer.fleet) json::AppendValue(out, "fleet", RowText(*answer.fleet, answer.text));
  return out.append("}");
}

Result<std::string> EditForHere(std::string_view document, const HereEdits& edits) {
  TIDEMILL_TRY(Value spec, json::Parse(document));
  if (!spec.is_object()) return Fail(Code::kInvalid, "a spec is names and values");
  // "machine" in their place means all that there is.
  const bool has_machine = spec.contains("resources") && !spec["resources"].is_object();
  if (edits.millicpus > 0 && !has_machine) {
    spec["resources"]["cpus"] = static_cast<double>(edits.millicpus) / 1000;
  }
  if (!edits.command.empty()) {
    spec["entrypoint"] = edits.command;
    for (const char* field : {"command", "timeout", "mode"}) spec.erase(field);
  }
  return spec.dump(-1, ' ', false, Value::error_handler_t::replace);
}

}  // namespace tidemill
