// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "agent/work.h"
#include "base/loop.h"
#include "model/session.h"

namespace tidemill {

// How far the items that run say they are: the latest of each, and no more of them than run. A
// value.
class ProgressBook {
 public:
  void Note(const Attempt& attempt, TimePoint now, ItemProgress progress);
  // It runs no more.
  void Forget(const ItemKey& key) { said_.erase(key); }
  void Clear() { said_.clear(); }
  // Of each job as many as are told, the newest first.
  std::map<JobId, std::vector<ItemProgress>> Newest() const;

 private:
  struct Said {
    JobId job;
    TimePoint at;
    ItemProgress progress;
  };
  std::map<ItemKey, Said> said_;
};

}  // namespace tidemill
