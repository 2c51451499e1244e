// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "model/ids.h"

namespace tidemill {

// Chunks of which something may have changed since somebody last took them: their bits, leases,
// rests, reports or stats, whether those who hold leases of them live, and whether their job is
// over. Keeps nothing until it is told to watch.
class TouchedChunks {
 public:
  void Watch() { watching_ = true; }
  void Add(ChunkKey key) {
    if (watching_) keys_.insert(key);
  }
  void Drop(ChunkKey key) { keys_.erase(key); }
  void DropJob(JobId job) {
    std::erase_if(keys_, [job](const ChunkKey& key) { return key.job == job; });
  }
  // Ascending.
  std::vector<ChunkKey> Take() {
    const std::set<ChunkKey> taken = std::exchange(keys_, {});
    return {taken.begin(), taken.end()};
  }

 private:
  bool watching_ = false;
  std::set<ChunkKey> keys_;
};

}  // namespace tidemill
