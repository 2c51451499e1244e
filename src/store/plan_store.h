// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/ids.h"
#include "model/plan.h"
#include "model/snapshot.h"

namespace tidemill {

// What a job has been put down for. It only grows, but for kJob, from which what was lost is moved
// to kLost.
struct JobMoney {
  JobId job;
  std::vector<Entry> entries;  // of kJob and kLost, as far as there are any
};

// How long items of a job ran, as one server has heard, in all of its life.
struct HeardTimes {
  JobId job;
  std::int64_t items = 0;   // attempts that ended by themselves
  double seconds = 0;       // of all of them together
  double squares = 0;       // of the seconds of those that succeeded, added up
  double lost_seconds = 0;  // of attempts of which nothing came; not in `seconds`
  bool operator==(const HeardTimes&) const = default;
};

// What one second of the leader's life reads, of one project.
struct ProjectSnapshot {
  std::string project;
  Snapshot snapshot;
  bool operator==(const ProjectSnapshot&) const = default;
};
struct Snapshots {
  TimePoint now{};                        // the store's clock
  std::vector<ProjectSnapshot> projects;  // those with a job, a machine or a provider; by name
};

// A machine whose time from put_down_until on is put down until `until`.
struct PutDownMachine {
  MachineKey key;
  TimePoint from{};  // its put_down_until, as it was read
  TimePoint until{};
  std::vector<Entry> entries;
};

// What the leader of all servers reads and writes. As the other halves of the store: each call is
// one transaction and may be repeated; any thread; calls may block.
//
// Two leaders do no harm: what is written names its machines, and is written only over what was
// read.
class PlanStore {
 public:
  virtual ~PlanStore() = default;

  // --- who leads ---

  // Whoever leads goes on for `life`; if nobody does, or it was `holder`, this one does. The epoch
  // is one more with each new leader. Nothing: another one leads.
  virtual Result<std::optional<std::int64_t>> Lead(const std::string& holder, Duration life) = 0;
  // Another may lead at once.
  virtual Result<void> StepDown(const std::string& holder) = 0;

  // --- what is decided from ---

  // Brings the machines' rows up to what sessions and providers say; `seen` is of made pools only,
  // and says nothing of machines that are not in it, but for those of pools that are `listed`.
  // - What its provider calls it is as it was last seen.
  // - ordered ──▶ booting: its provider has it. ──▶ joined: a session of its name lives in its
  //   pool; then `never_joined` of the pool is 0.
  // - A session of a machine without a row gets one, which was not ordered.
  // - ──▶ gone: its provider says that it ended, then; or its provider has not listed it for
  //   kMissingTime and no session of its name lives, or it was to end, when it was first missing;
  //   or nobody ordered it and no session of its name lives. One that was never joined counts for
  //   `never_joined`, unless it was not made.
  // - A joined or draining one that is there and has no session has been idle since that ended.
  virtual Result<void> SeeMachines(const ProviderLook& look) = 0;
  // The name of the machine that its provider calls so, as it was last seen; nothing: none that is
  // there.
  virtual Result<std::optional<std::string>> FindMachineById(const std::string& project,
                                                             const std::string& pool,
                                                             const std::string& id) = 0;
  // As of one moment. Machines that are gone are in it until their time is put down to the end.
  virtual Result<Snapshots> ReadSnapshots() = 0;

  // --- what is decided ---

  // kConflict: `epoch` is not the leader's any more. Plans that are as before change nothing.
  virtual Result<void> WritePlans(std::int64_t epoch, const std::map<std::string, Plan>& plans) = 0;
  virtual Result<PlanInForce> ReadPlan() = 0;

  // The machines `first` to `first + count - 1`, named "pool-number", in state ordered: those of
  // them that are not there. Answers their keys; the pool's next number is higher from now on.
  virtual Result<std::vector<MachineKey>> OrderMachines(const std::string& project,
                                                        const std::string& pool, std::int64_t first,
                                                        std::int64_t count, Money price) = 0;
  // A joined machine gets no more leases. Of any other, nothing.
  virtual Result<void> DrainMachine(const MachineKey& key) = 0;
  // True: it is in the state that was seen, nothing is leased on it, and its provider may be asked
  // to end it; it stays in that state, `ending`, until it is seen to be gone.
  virtual Result<bool> EndMachine(const MachineKey& key, MachineState seen) = 0;
  // It was ordered, and its provider has not made it: it is gone, and was never billed.
  virtual Result<void> DropOrder(const MachineKey& key) = 0;
  // What the provider said last; an empty one if it refused nothing.
  virtual Result<void> SetProviderWord(const std::string& project, const std::string& pool,
                                       const ProviderWord& word) = 0;
  // A person has looked: machines may be ordered again, and what the provider has said is
  // forgotten.
  virtual Result<void> ForgiveNeverJoined(const std::string& project, const std::string& pool) = 0;
  // The job need not wait for `other` any more. With a reason it is paused, and says why.
  virtual Result<void> EndAfter(JobId job, JobId other, const std::string& reason) = 0;

  // --- money ---

  // Of each machine, all of it or nothing: it is left out if its time was put down by another.
  virtual Result<void> PutDown(const std::vector<PutDownMachine>& machines) = 0;
  // Moves so much from kJob to kLost, so that kLost has `time` and `amount` in all; never back.
  virtual Result<void> SetLost(JobId job, Duration time, Money amount) = 0;
  virtual Result<std::vector<JobMoney>> ReadMoney(const std::vector<JobId>& jobs) = 0;
  // Of a project, what no job is to pay: kIdle and kBoot.
  virtual Result<std::vector<Entry>> ReadOverhead(const std::string& project) = 0;
  // What `server` has heard so far: takes the place of what it said before.
  virtual Result<void> HearTimes(const std::string& server,
                                 const std::vector<HeardTimes>& times) = 0;
};

}  // namespace tidemill
