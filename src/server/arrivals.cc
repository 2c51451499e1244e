// SPDX-License-Identifier: Apache-2.0
#include "server/arrivals.h"

#include <utility>

#include "base/digest.h"
#include "submit/cut.h"

namespace tidemill {
namespace {

Result<std::vector<NewChunkItems>> CutText(const std::string& text) {
  TIDEMILL_TRY(CutPart cut, CutLines(text));
  std::vector<NewChunkItems> chunks;
  for (CutChunk& chunk : cut.chunks) chunks.push_back({chunk.length, std::move(chunk.body)});
  return chunks;
}

}  // namespace

Result<NewItems> MakeItems(const ArrivingItems& items) {
  NewItems made;
  if (items.entries.empty()) {
    if (!items.key.empty()) made.key = MarkOf(items.key);
    made.digest = Sha256(items.text);
    TIDEMILL_TRY(made.chunks, CutText(items.text));
    return made;
  }
  for (const ArrivingItem& entry : items.entries) {
    made.once.push_back(entry.once.empty() ? "" : MarkOf(entry.once));
  }
  made.cut = [&entries = items.entries](const std::vector<std::size_t>& places) {
    std::string text;
    for (const std::size_t place : places) text.append(entries[place].text).push_back('\n');
    return CutText(text);
  };
  return made;
}

}  // namespace tidemill
