// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Makes texts alike that differ only by what they are about.
namespace tidemill {

// Lines of UTF-8 out of any bytes: without colours and other orders to a terminal, of a line that
// was written over and over what stood there last, '?' for bytes that are no text.
std::string CleanText(std::string_view bytes);

// Of one clean line, with '#' for numbers, addresses and UUIDs, '...' for what is in quotes, paths
// without their folders, "{item}" for the item's own text or file name. A place in source code
// ("load.py:31") keeps its line, and so do the small numbers behind words such as errno and status.
std::string Alike(std::string_view line, std::string_view item);

// "load.py": a name that ends as a file of source code does.
bool IsSourceName(std::string_view name);

// At most so many bytes, without half a character at the end.
void CutUtf8(std::string& text, std::size_t most);

}  // namespace tidemill
