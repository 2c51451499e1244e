// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "model/lease.h"
#include "store/memory/touched.h"

namespace tidemill {

// The leases, and who holds which. What a session, a job or a chunk has is found without a look at
// the others. Its owner's lock guards it.
class LeaseTable {
 public:
  using Ids = std::set<LeaseId>;
  using Owed = std::map<JobId, std::int64_t>;  // items, by job; never 0
  struct Holding {
    Ids leases;
    Owed owed;
  };

  explicit LeaseTable(TouchedChunks& touched) : touched_(touched) {}

  // Nothing, if it is not active. Holds until the lease is changed.
  const Lease* Find(LeaseId id) const;
  const Lease& At(LeaseId id) const { return leases_.at(id); }
  const Holding& HeldBy(SessionId session) const;
  const Ids& OfSession(SessionId session) const { return HeldBy(session).leases; }
  const Owed& OwedBy(SessionId session) const { return HeldBy(session).owed; }
  const Ids& OfJob(JobId job) const;
  const Ids& OfChunk(ChunkKey chunk) const;
  // Sessions and jobs that have any.
  const std::map<SessionId, Holding>& sessions() const { return of_session_; }
  const std::map<JobId, Ids>& jobs() const { return of_job_; }

  void Add(const Lease& lease);
  // It owes these no longer; one that owes nothing is over.
  void Settle(LeaseId id, const Bits& items);
  void End(LeaseId id);

 private:
  TouchedChunks& touched_;
  std::unordered_map<LeaseId, Lease> leases_;  // never gone through: it has no order of its own
  std::map<SessionId, Holding> of_session_;
  std::map<JobId, Ids> of_job_;
  std::map<ChunkKey, Ids> of_chunk_;
};

}  // namespace tidemill
