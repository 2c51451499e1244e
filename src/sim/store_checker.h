// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bits.h"
#include "model/chunk.h"
#include "sim/faulty_store.h"
#include "sim/items.h"
#include "store/check.h"
#include "store/memory/memory_store.h"

namespace tidemill {

// Who is told of a broken invariant, by its id and in words.
using OnBreach = std::function<void(const std::string& id, const std::string& what)>;

// After every call of the store: nothing was lost or doubled, nothing was taken back, nothing was
// recorded that was not told by who held it, and nobody was given up who had been heard.
class StoreChecker : public StoreWatch {
 public:
  struct Deps {
    MemoryStore& store;
    const PlannedItems& items;
    bool all_runs_are_known = false;  // no agent is played: what was run is written down
    std::function<TimePoint()> clock;
    OnBreach breach;
  };
  explicit StoreChecker(Deps deps) : deps_(std::move(deps)) { deps_.store.WatchTouched(); }

  void BeforeRun(const Exchange& exchange) override;
  void AfterRun(const Exchange& exchange, const ExchangeResult& result) override;
  void AfterReap(const Reaped& reaped) override;
  void AfterCall() override;
  // The same of the jobs as a whole: comes once in a while.
  void CheckJobs();

  // When it was first seen to be cancelled; nothing: it was not.
  std::optional<TimePoint> CancelledAt(JobId job) const;
  std::int64_t settlements() const { return settlements_; }

 private:
  // What a session was last heard to say, and for how long it is to live on.
  struct Heard {
    TimePoint at{};
    Duration life{};
  };
  void CheckChange(const Chunk& before, const Chunk& now);
  void CheckNews(const Chunk& now, const Bits& news);

  const Deps deps_;
  std::vector<bool> admitted_;        // of the exchange under way: whose pass is good
  std::map<ChunkKey, Bits> may_end_;  // what those who hold it have told by the call under way
  bool reaping_ = false;              // the call under way was the reaper's
  std::map<SessionId, Heard> heard_;
  std::map<ChunkKey, Chunk> last_seen_;
  std::map<JobId, JobMark> last_jobs_;
  std::map<JobId, TimePoint> cancelled_;
  std::int64_t settlements_ = 0;
};

}  // namespace tidemill
