// SPDX-License-Identifier: Apache-2.0
#include "wire/item_object.h"

#include <set>

#include "wire/json.h"

namespace tidemill {
namespace {

Result<std::string> Quote(const std::string& text) {
  try {
    return json::Value(text).dump();
  } catch (const json::Value::type_error&) {
    return Fail(Code::kInvalid, "a text that is not UTF-8");
  }
}

// Parsed values are no deeper than json::kDepth.
bool Rewrite(json::Value& value, const std::function<bool(std::string&)>& rewrite) {
  if (value.is_string()) return rewrite(value.get_ref<std::string&>());
  bool changed = false;
  if (value.is_structured()) {
    for (json::Value& each : value) changed = Rewrite(each, rewrite) || changed;
  }
  return changed;
}

}  // namespace

Result<ItemObjects> ItemObjects::Of(const std::vector<std::string>& columns) {
  ItemObjects made;
  std::set<std::string> seen;
  for (const std::string& column : columns) {
    if (column.empty()) {
      return Fail(Code::kInvalid, "the first line names the columns, and one of them has no name");
    }
    if (!seen.insert(column).second) {
      return Fail(Code::kInvalid, "two columns are called '" + column + "'");
    }
    TIDEMILL_TRY(std::string name, Quote(column));
    made.names_.push_back(std::move(name));
  }
  return made;
}

Result<std::string> ItemObjects::Format(const std::vector<std::string>& values) const {
  if (values.size() != names_.size()) {
    return Fail(Code::kInvalid, std::to_string(values.size()) +
                                    " fields, where the first line has " +
                                    std::to_string(names_.size()));
  }
  std::string out = "{";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    TIDEMILL_TRY(const std::string value, Quote(values[i]));
    out.append(names_[i]).append(":").append(value);
  }
  return out + "}";
}

std::string RewriteItemTexts(const std::string& line,
                             const std::function<bool(std::string&)>& rewrite) {
  auto value = json::Parse(line);
  if (!value || !value->is_object() || !Rewrite(*value, rewrite)) return line;
  return value->dump();
}

Result<void> CheckItemObject(std::string_view line) {
  TIDEMILL_TRY(const json::Value value, json::Parse(line));
  if (!value.is_object()) return Fail(Code::kInvalid, "not a JSON object");
  return {};
}

}  // namespace tidemill
