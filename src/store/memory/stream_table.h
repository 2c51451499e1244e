// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/stream.h"

namespace tidemill {

// Streams that somebody has asked for, oldest first. Few, and each for seconds. Its owner's lock
// guards it.
class StreamTable {
 public:
  // Null if there is none.
  const AskedStream* Find(StreamId id) const;
  std::size_t size() const { return rows_.size(); }
  // Those whose time is not over.
  std::vector<AskedStream> Until(std::int64_t now_us, std::size_t most) const;

  void Add(const AskedStream& stream, std::int64_t until_us);
  void Drop(StreamId id);
  void DropOver(std::int64_t now_us);
  void DropJob(JobId job);

 private:
  struct Asked {
    AskedStream stream;
    std::int64_t until_us = 0;
  };
  std::vector<Asked> rows_;
};

}  // namespace tidemill
