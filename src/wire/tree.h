// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tidemill {

// Any JSON but null, for modules whose own values are no nouns of the wire.
struct Tree {
  using List = std::vector<Tree>;
  using Object = std::vector<std::pair<std::string, Tree>>;
  // An integer is unsigned only if it is past the signed ones.
  using Value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string, List, Object>;

  Tree() : value(Object()) {}
  Tree(Value v) : value(std::move(v)) {}

  Value value;
};

// An integer as a tree has it.
Tree TreeOf(std::uint64_t number);

// The fields of objects come in the order of their names. kInvalid: not JSON, a null, a field
// twice, nested too deep, an integer of more than 64 bits.
Result<Tree> ParseTree(std::string_view text);
// The same of what others write: a field that is null is left out.
Result<Tree> ParseTreeWithoutNulls(std::string_view text);

// Fields in their order, one a line; a list of plain values is one line. Numbers are read back as
// they were, those that are not finite as 0: JSON has no others.
std::string FormatTree(const Tree& tree);

// In one line.
std::string FormatTreeShort(const Tree& tree);

}  // namespace tidemill
