// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text that came from a program and that a person will see.
namespace tidemill::frame {

// UTF-8 as it must be: no code point in a longer form than it needs, no half of a pair, none above
// U+10FFFF.
bool IsUtf8(std::string_view text);
// UTF-8 without control characters, so that it is one line of any terminal and stays in it.
bool IsLine(std::string_view text);
// A line out of any UTF-8: a space for each control character.
std::string LineOf(std::string_view text);
// Its first bytes, without half a code point at the end.
std::string_view CutText(std::string_view text, std::size_t bytes_most);
// As UTF-8.
void AppendCodePoint(std::string& out, char32_t point);

}  // namespace tidemill::frame
