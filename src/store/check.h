// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/rows.h"
#include "store/store.h"

namespace tidemill {

// What must hold of every committed state, whatever has happened before. The ids are for machines:
//
//   S01  cover      the chunks of a job cover its items 0 .. N-1 once, but for as many as are
//                   packed away
//   S02  states     done, leased, parked and resting are disjoint, lost once and suspect too;
//   failed
//                   is in done; an item rests exactly if it has a time at which its retry is due
//   S03  leases     leased is the disjoint union of the job's leases, and none of them is empty
//   S04  outcomes   every done item has exactly one outcome, every other item has none
//   S07  holders    no lease belongs to a dead or unknown session, or to a job that is over or a
//                   draft
//   S12  counts     the items of a job in all states are those that it has
//   S14  ends       a finished job is done throughout, a cancelled one has nothing waiting; a job
//                   that is over stays so, but for a reopening
struct Breach {
  std::string id;
  std::string what;  // a sentence: "render-7: chunk 4: what is leased is not what leases owe"
  bool operator==(const Breach&) const = default;
};
// "S03 render-7: chunk 4: what is leased is not what leases owe"
std::string ToString(const Breach& breach);
void PrintTo(const Breach& breach, std::ostream* out);

// A chunk and all that is kept about its items, as of one moment.
struct ChunkState {
  std::string job;  // as people call it
  JobState job_state = JobState::kActive;
  std::int32_t job_round = 0;
  StoredChunk stored;
  std::vector<Lease> leases;
  std::vector<Rest> rests;
  std::vector<Report> reports;   // bodies are not looked at
  std::vector<ChunkStat> stats;  // nor what is in these
  std::set<SessionId> dead;      // those of the leases' sessions that are dead or unknown
};

// A breach each; none means that nothing was lost or doubled. Of one chunk: all but S01 and S12,
// and of S14 not the last.
std::vector<Breach> CheckChunk(const ChunkState& state);
std::vector<Breach> CheckConservation(const StoreState& state);
// S12, of what a store answers.
std::vector<Breach> CheckCounts(const JobCounts& counts);
// S14: whether a job may have come from one state into the other. A reopening has its own round.
struct JobMark {
  JobState state = JobState::kDraft;
  std::int32_t round = 0;
};
std::optional<Breach> CheckMove(const std::string& job, JobMark before, JobMark after);

// CheckConservation of all jobs of a store, one after the other, while it is in use: each is looked
// at as of one moment.
Result<std::vector<Breach>> CheckStore(Store& store);
// Only of jobs that are active, paused or being cancelled: those that are over outnumber them, and
// do not change.
Result<std::vector<Breach>> CheckLiveJobs(Store& store);

}  // namespace tidemill
