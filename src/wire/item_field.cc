// SPDX-License-Identifier: Apache-2.0
#include "wire/item_field.h"

#include "wire/json.h"

namespace tidemill {

Result<std::string> ItemField(std::string_view item, std::string_view field) {
  const auto parsed = json::Parse(item);
  if (!parsed) return While("is not a JSON object", parsed.error());
  const json::Value& root = *parsed;
  if (!root.is_object()) return Fail(Code::kInvalid, "is not a JSON object");
  const json::Value* value = &root;
  std::string_view rest = field;
  while (true) {
    const std::size_t dot = rest.find('.');
    const auto found = value->is_object() ? value->find(rest.substr(0, dot)) : value->end();
    if (found == value->end() || found->is_null()) {
      return Fail(Code::kNotFound, "has no field '" + std::string(field) + "'");
    }
    value = &*found;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return value->is_string() ? value->get<std::string>() : value->dump();
}

}  // namespace tidemill
