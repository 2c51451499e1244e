// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tidemill {

// What an error says of itself, and where it happened if that is known ("load.py:31").
struct ErrorLine {
  std::string text;
  std::string place;
  bool operator==(const ErrorLine&) const = default;
};

// The error in the last lines of a program, which are clean (see CleanText). Knows the last words
// of Python, Java, .NET, Node, Go, Rust, C++ and sanitizers; of others it takes the last line that
// sounds like an error, or else the last one at all. Empty if there is no line.
ErrorLine FindErrorLine(std::string_view text);

}  // namespace tidemill
