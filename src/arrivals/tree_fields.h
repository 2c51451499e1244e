// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of this module: what clouds write, read field by field. What is not there, or
// is something else, is empty.

#include <string>
#include <string_view>
#include <variant>

#include "wire/tree.h"

namespace tidemill {

// Null: no such field, or no object.
inline const Tree* FindIn(const Tree& tree, std::string_view name) {
  const auto* object = std::get_if<Tree::Object>(&tree.value);
  if (object == nullptr) return nullptr;
  for (const auto& [key, value] : *object) {
    if (key == name) return &value;
  }
  return nullptr;
}

inline const Tree& FieldOrNone(const Tree& tree, std::string_view name) {
  static const Tree none;
  const Tree* const field = FindIn(tree, name);
  return field == nullptr ? none : *field;
}

inline std::string TextIn(const Tree& tree, std::string_view name) {
  const auto* text = std::get_if<std::string>(&FieldOrNone(tree, name).value);
  return text == nullptr ? "" : *text;
}

}  // namespace tidemill
