// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// The items of one chunk: zstd of the lines, with a newline between each two.
struct CutChunk {
  int length = 0;
  std::string body;
};

struct CutPart {
  std::vector<CutChunk> chunks;
  std::int64_t items = 0;
};

// Makes chunks of one part of a list: an item a line, in UTF-8, ended by \n or \r\n; empty lines at
// the end mean nothing. A chunk takes lines until limits::kItemsPerChunk or limits::kChunkTextBytes
// is reached. kInvalid, with the line and what to do about it, if any line cannot be an item.
Result<CutPart> CutLines(std::string_view text);

// The items of a chunk's body; kInvalid if they are not `length`.
Result<std::vector<std::string>> UnpackItems(std::string_view body, int length);

}  // namespace tidemill
