// SPDX-License-Identifier: Apache-2.0
#include "wire/tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "wire/json.h"

namespace tidemill {
namespace {

enum class Nulls : std::uint8_t { kRefused, kLeftOut };

Result<Tree> Grow(const json::Value& value, const json::Path& path, Nulls nulls) {
  using Kind = json::Value::value_t;
  switch (value.type()) {
    case Kind::boolean:
      return Tree(value.get<bool>());
    case Kind::number_integer:
      return Tree(value.get<std::int64_t>());
    case Kind::number_unsigned:
      return TreeOf(value.get<std::uint64_t>());
    case Kind::number_float:
      return Tree(value.get<double>());
    case Kind::string:
      return Tree(value.get_ref<const std::string&>());
    case Kind::array: {
      Tree::List list;
      json::Path in_list{&path, {}, 0};
      for (const json::Value& element : value) {
        TIDEMILL_TRY(Tree tree, Grow(element, in_list, nulls));
        list.push_back(std::move(tree));
        ++in_list.index;
      }
      return Tree(std::move(list));
    }
    case Kind::object: {
      Tree::Object object;
      for (const auto& [name, field] : value.get_ref<const json::Value::object_t&>()) {
        if (nulls == Nulls::kLeftOut && field.is_null()) continue;
        TIDEMILL_TRY(Tree tree, Grow(field, {&path, name, 0}, nulls));
        object.emplace_back(name, std::move(tree));
      }
      return Tree(std::move(object));
    }
    default:
      return json::Wrong(path, "must not be null");
  }
}

bool IsPlain(const Tree& tree) {
  return !std::holds_alternative<Tree::List>(tree.value) &&
         !std::holds_alternative<Tree::Object>(tree.value);
}

// The shortest text that is read back as the same number.
std::string Fraction(double number) {
  if (!std::isfinite(number)) return "0.0";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  std::string out(text.data(), end);
  // Else it would be read back as an integer.
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

class Writer {
 public:
  explicit Writer(bool lines) : lines_(lines) {}

  void Write(const Tree& tree) {
    std::visit([this](const auto& value) { Put(value); }, tree.value);
  }

  std::string out;

 private:
  void Put(bool value) { out += value ? "true" : "false"; }
  void Put(std::int64_t value) { out += std::to_string(value); }
  void Put(std::uint64_t value) { out += std::to_string(value); }
  void Put(double value) { out += Fraction(value); }
  void Put(const std::string& value) { out += json::Quoted(value); }
  void Put(const Tree::List& list) {
    const bool lines = lines_ && !std::all_of(list.begin(), list.end(), IsPlain);
    out += '[';
    ++depth_;
    for (std::size_t i = 0; i < list.size(); ++i) {
      Separate(i == 0, lines);
      Write(list[i]);
    }
    --depth_;
    if (lines) NewLine();
    out += ']';
  }
  void Put(const Tree::Object& object) {
    out += '{';
    ++depth_;
    for (std::size_t i = 0; i < object.size(); ++i) {
      Separate(i == 0, lines_);
      out += json::Quoted(object[i].first);
      out += ": ";
      Write(object[i].second);
    }
    --depth_;
    if (lines_ && !object.empty()) NewLine();
    out += '}';
  }
  void Separate(bool first, bool lines) {
    if (!first) out += ',';
    if (lines) {
      NewLine();
    } else if (!first) {
      out += ' ';
    }
  }
  void NewLine() { out.append("\n").append(2 * depth_, ' '); }

  const bool lines_;
  std::size_t depth_ = 0;
};

}  // namespace

Tree TreeOf(std::uint64_t number) {
  if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return Tree(number);
  return Tree(static_cast<std::int64_t>(number));
}

Result<Tree> ParseTree(std::string_view text) {
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  return Grow(value, {}, Nulls::kRefused);
}

Result<Tree> ParseTreeWithoutNulls(std::string_view text) {
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  return Grow(value, {}, Nulls::kLeftOut);
}

std::string FormatTree(const Tree& tree) {
  Writer writer(true);
  writer.Write(tree);
  return writer.out + "\n";
}

std::string FormatTreeShort(const Tree& tree) {
  Writer writer(false);
  writer.Write(tree);
  return writer.out;
}

}  // namespace tidemill
