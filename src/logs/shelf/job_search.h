// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "logs/search.h"
#include "logs/shelf/packs.h"

namespace tidemill {

// Some items of a job.
class ItemSet {
 public:
  void Add(std::int64_t item);
  bool Has(std::int64_t item) const;
  bool HasAny(std::int64_t first, std::int64_t last) const;

 private:
  std::vector<bool> bits_;
};

struct LogSearchAsk {
  std::string place = {};  // as in ItemLogAsk
  std::shared_ptr<const LogPattern> pattern = {};
  std::shared_ptr<const ItemSet> items = {};  // null: all
  std::string cursor = {};                    // as the page before said; empty: from the beginning
  std::size_t hits_most = 1000;
  std::size_t bytes_most = 1 << 20;  // of their lines
};

struct LogSearchPage {
  struct Hit : LogHit {
    std::string session = {};
  };
  std::vector<Hit> hits = {};
  std::string cursor = {};  // empty: all was searched
  // What this page has gone through.
  std::int64_t packs = 0;
  std::int64_t attempts = 0;
  std::int64_t text_bytes = 0;  // also of what the filters let us skip
  std::int64_t damaged = 0;     // packs that cannot be read
  std::int64_t fetched_bytes = 0;
};

// Searches all of a job's packs, in the order of their names. A page ends when it has enough hits,
// has fetched enough, or has taken long enough. Both outlive the call. kInvalid: the cursor.
void SearchLogs(Packs& packs, Loop& loop, const LogSearchAsk& ask,
                std::function<void(Result<LogSearchPage>)> done);

}  // namespace tidemill
