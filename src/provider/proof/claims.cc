// SPDX-License-Identifier: Apache-2.0
#include "provider/proof/claims.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

tl::unexpected<Error> Missing(std::string_view name) {
  return Fail(Code::kNobody, "the document has no good '" + std::string(name) + "'");
}

}  // namespace

// AWS says null for what an instance does not have, which a tree cannot hold.
Result<Claims> Claims::Of(std::string_view json) {
  auto tree = ParseTreeWithoutNulls(json);
  if (!tree) return Fail(Code::kNobody, "the document is not JSON: " + tree.error().reason);
  auto* const fields = std::get_if<Tree::Object>(&tree->value);
  if (fields == nullptr) return Fail(Code::kNobody, "the document is no object");
  return Claims(std::move(*fields));
}

const Tree* Claims::Find(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [name](const auto& field) { return field.first == name; });
  return found == fields_.end() ? nullptr : &found->second;
}

Result<std::string> Claims::Text(std::string_view name) const {
  const Tree* const tree = Find(name);
  const auto* const text = tree == nullptr ? nullptr : std::get_if<std::string>(&tree->value);
  if (text == nullptr || text->empty()) return Missing(name);
  return *text;
}

Result<std::int64_t> Claims::Number(std::string_view name) const {
  const Tree* const tree = Find(name);
  const auto* const number = tree == nullptr ? nullptr : std::get_if<std::int64_t>(&tree->value);
  if (number == nullptr) return Missing(name);
  return *number;
}

Result<Claims> Claims::In(std::string_view name) const {
  const Tree* const tree = Find(name);
  const auto* const fields = tree == nullptr ? nullptr : std::get_if<Tree::Object>(&tree->value);
  if (fields == nullptr) return Missing(name);
  return Claims(*fields);
}

}  // namespace tidemill
