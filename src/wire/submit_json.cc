// SPDX-License-Identifier: Apache-2.0
#include "wire/submit_json.h"

#include "wire/json.h"
#include "wire/nearest.h"

namespace tidemill {
namespace {

using json::Value;

Result<void> CheckObject(const Value& spec, const char* field) {
  const auto found = spec.find(field);
  if (found == spec.end() || found->is_object()) return {};
  return Fail(Code::kInvalid, std::string(field) + ": must be names and values");
}

Result<void> SetParams(Value& spec, const SpecEdits& edits) {
  for (const auto& [name, value] : edits.params) {
    const bool declared = spec.contains("params") && spec["params"].contains(name);
    if (!declared) {
      std::vector<std::string_view> known;
      if (spec.contains("params")) {
        for (const auto& [one, unused] : spec["params"].get_ref<const Value::object_t&>()) {
          known.push_back(one);
        }
      }
      const std::string hint =
          known.empty() ? "the spec declares none under 'params'" : HintFor(name, known);
      return Fail(Code::kInvalid, "unknown param '" + name + "'; " + hint);
    }
    spec["params"][name] = value;
  }
  return {};
}

void SetWishes(Value& spec, const WishEdits& edits) {
  if (!edits.queue.empty()) spec["queue"] = edits.queue;
  if (edits.priority) spec["priority"] = *edits.priority;
  if (!edits.deadline.empty()) spec["deadline"] = edits.deadline;
  if (!edits.budget.empty()) spec["budget"] = edits.budget;
  if (edits.max_parallel) spec["max_parallel"] = *edits.max_parallel;
  if (!edits.after.empty()) spec["after"] = edits.after;
}

}  // namespace

Result<std::string> EditSpec(std::string_view document, const SpecEdits& edits) {
  TIDEMILL_TRY(Value spec, json::Parse(document));
  if (!spec.is_object()) return Fail(Code::kInvalid, "a spec is names and values");
  TIDEMILL_TRY_VOID(CheckObject(spec, "env"));
  TIDEMILL_TRY_VOID(CheckObject(spec, "params"));
  if (!edits.name.empty()) spec["name"] = edits.name;
  if (!edits.code.empty()) {
    spec.erase("workdir");
    spec["code"] = edits.code;
  }
  for (const auto& [name, value] : edits.env) spec["env"][name] = value;
  TIDEMILL_TRY_VOID(SetParams(spec, edits));
  SetWishes(spec, edits.wishes);
  return spec.dump(-1, ' ', false, Value::error_handler_t::replace);
}

std::string FormatNewJob(std::string_view key, std::string_view document, bool open) {
  return "{\"key\":" + json::Quoted(key) + (open ? ",\"open\":true" : "") +
         ",\"spec\":" + std::string(document) + "}";
}

std::string FormatRange(std::int64_t items) { return "{\"range\":" + std::to_string(items) + "}"; }

std::string FormatSeal(std::int64_t parts) { return "{\"parts\":" + std::to_string(parts) + "}"; }

std::string FormatRetry(const RetryRequest& retry) {
  if (retry.group) {
    std::string out = "{\"group\":{";
    json::AppendText(out, "signature", retry.group->signature);
    json::AppendText(out, "cause", CauseName(retry.group->cause));
    return out + "}}";
  }
  if (retry.items.empty()) return "{\"failed\":true}";
  std::string out = "{\"items\":[";
  for (const std::int64_t item : retry.items) {
    if (out.back() != '[') out.push_back(',');
    out += std::to_string(item);
  }
  return out + "]}";
}

}  // namespace tidemill
