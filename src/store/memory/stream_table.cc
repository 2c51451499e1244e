// SPDX-License-Identifier: Apache-2.0
#include "store/memory/stream_table.h"

#include <algorithm>

namespace tidemill {

const AskedStream* StreamTable::Find(StreamId id) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [id](const Asked& row) { return row.stream.id == id; });
  return found == rows_.end() ? nullptr : &found->stream;
}

std::vector<AskedStream> StreamTable::Until(std::int64_t now_us, std::size_t most) const {
  std::vector<AskedStream> streams;
  for (const Asked& row : rows_) {
    if (streams.size() == most) break;
    if (row.until_us > now_us) streams.push_back(row.stream);
  }
  return streams;
}

void StreamTable::Add(const AskedStream& stream, std::int64_t until_us) {
  rows_.push_back({stream, until_us});
}

void StreamTable::Drop(StreamId id) {
  std::erase_if(rows_, [id](const Asked& row) { return row.stream.id == id; });
}

void StreamTable::DropOver(std::int64_t now_us) {
  std::erase_if(rows_, [now_us](const Asked& row) { return row.until_us <= now_us; });
}

void StreamTable::DropJob(JobId job) {
  std::erase_if(rows_, [job](const Asked& row) { return row.stream.job == job; });
}

}  // namespace tidemill
