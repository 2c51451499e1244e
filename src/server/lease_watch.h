// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/bits.h"
#include "base/loop.h"
#include "lease/board.h"
#include "lease/memory.h"
#include "lease/trial.h"
#include "model/exchange.h"
#include "model/sync.h"

namespace tidemill {

// Follows the leases of jobs that are on trial, or whose items may be given more memory, and draws
// the conclusions. It knows only of what went through this server: several count for themselves.
// Loop thread only.
class LeaseWatch {
 public:
  struct Events {
    std::function<void(JobId)> end_trial;
    std::function<void(JobId, std::string)> pause_trial;  // with the reason
    std::function<void(JobId, std::int64_t)> raise_memory;
  };

  LeaseWatch(JobBoard& board, Events events) : board_(board), events_(std::move(events)) {}

  // A sync that was carried out.
  void Learn(const SyncRequest& request, const SyncResult& result, TimePoint now);
  // The session is over, or syncs with another server.
  void Forget(SessionId session) { sessions_.erase(session); }
  // Those that `lives` does not know, and what is known of jobs that nobody has settled items of
  // for long.
  void ForgetOld(TimePoint now, const std::function<bool(SessionId)>& lives);

 private:
  struct Watched {
    JobId job;
    std::int64_t first_item = 0;
    Bits mine;  // what it still owes, as far as we have heard
    std::int64_t memory_bytes = 0;
    bool tried = false;
    // Of the job when the lease was granted.
    int trial = 0;
    std::int64_t memory_start = 0;
    std::int64_t memory_max = 0;
  };
  using Leases = std::map<LeaseId, Watched>;
  struct Tally {
    TrialTally trial;
    MemoryTally memory;
    std::int64_t raised_to = 0;
    TimePoint touched;
  };

  void Settle(Watched& lease, const Settlement& settlement, TimePoint now);
  void CountTrial(const Watched& lease, const Settlement& settlement, const Bits& fresh,
                  Tally& tally);
  void Judge(const Watched& lease);
  // Leases that the agent neither names nor was given are over.
  void Prune(Leases& leases, const SyncRequest& request, const SyncResult& result);
  void Begin(Leases& leases, const Grant& grant);

  JobBoard& board_;
  const Events events_;
  std::map<SessionId, Leases> sessions_;
  std::map<JobId, Tally> tallies_;
};

}  // namespace tidemill
