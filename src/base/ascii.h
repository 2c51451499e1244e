// SPDX-License-Identifier: Apache-2.0
#pragma once

// Character classes of ASCII. Unlike those of <cctype> they depend on no locale and take any char.
namespace tidemill {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
constexpr bool IsLetterOrDigit(char c) { return IsLetter(c) || IsDigit(c); }

}  // namespace tidemill
