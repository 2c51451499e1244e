// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemill::frame {

// Reads JSON (RFC 8259) from its beginning to its end, value after value, and keeps nothing.
// Strict: UTF-8, no member twice where somebody looks at it, no depth above kDepthMost. Once
// something is not as it must be, all that follows fails too.
class JsonReader {
 public:
  static constexpr int kDepthMost =
      64;  // what any parser takes; and the stack of this one is short

  explicit JsonReader(std::string_view text) : rest_(text) {}

  // Calls `visit(name)` for each member; it takes the value and says whether to go on.
  template <typename Visit>
  bool Object(Visit visit) {
    if (!Open('{')) return false;
    bool first = true;
    while (!Close('}', first)) {
      std::string name;
      if (failed_ || !Text(name) || !Symbol(':') || !visit(name)) return Fail();
      first = false;
    }
    return !failed_;
  }
  // Calls `visit()` for each element.
  template <typename Visit>
  bool Array(Visit visit) {
    if (!Open('[')) return false;
    bool first = true;
    while (!Close(']', first)) {
      if (failed_ || !visit()) return Fail();
      first = false;
    }
    return !failed_;
  }
  bool Text(std::string& out);
  bool Number(double& out);
  // A whole number from 0 up, without a point or an exponent.
  bool Whole(std::uint64_t& out);
  // Any value.
  bool Skip();
  // The same, as its text.
  bool Raw(std::string& out);
  // Nothing follows, and nothing was wrong.
  bool AtEnd();

 private:
  bool Fail() {
    failed_ = true;
    return false;
  }
  void SkipSpace();
  bool Symbol(char symbol);
  bool Word(std::string_view word);
  bool Open(char bracket);
  // True at the end of an object or array; else takes the comma between its parts.
  bool Close(char bracket, bool first);
  bool Escape(std::string& out);
  bool CodeUnit(char32_t& unit);
  // The text of a number.
  std::string_view Digits();

  std::string_view rest_;
  int depth_ = 0;
  bool failed_ = false;
};

// `text` in quotes. What is no UTF-8 must not come here.
std::string JsonText(std::string_view text);

// The number of an item: the member "item" of a JSON object in one line. Nothing: it is no such
// object, or has no such number.
std::optional<std::uint64_t> ItemNameOf(std::string_view json);

}  // namespace tidemill::frame
