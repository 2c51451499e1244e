// SPDX-License-Identifier: Apache-2.0
#include "wire/changes_json.h"

#include <string_view>

#include "wire/json.h"

namespace tidemill {
namespace {

std::string_view OpName(SettingsChange::Kind kind) {
  switch (kind) {
    case SettingsChange::Kind::kAdd:
      return "add";
    case SettingsChange::Kind::kChange:
      return "change";
    case SettingsChange::Kind::kRemove:
      return "remove";
  }
  return "change";
}

std::string FieldsText(const std::vector<FieldChange>& fields) {
  std::string out = "[";
  for (const FieldChange& field : fields) {
    std::string one = "{";
    json::AppendText(one, "field", field.field);
    json::AppendText(one, "before", field.before);
    json::AppendText(one, "after", field.after);
    out.append(out.size() > 1 ? "," : "").append(one).append("}");
  }
  return out + "]";
}

}  // namespace

std::string FormatChanges(const std::vector<SettingsChange>& changes, bool applied) {
  std::string list = "[";
  for (const SettingsChange& change : changes) {
    std::string one = "{";
    json::AppendText(one, "op", OpName(change.kind));
    json::AppendText(one, "what", change.what);
    json::AppendText(one, "name", change.name);
    json::AppendValue(one, "fields", FieldsText(change.fields));
    list.append(list.size() > 1 ? "," : "").append(one).append("}");
  }
  std::string out = "{";
  json::AppendFlag(out, "applied", applied);
  json::AppendValue(out, "changes", list + "]");
  return out + "}";
}

}  // namespace tidemill
