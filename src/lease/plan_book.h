// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "model/plan.h"

namespace tidemill {

// Where an agent belongs, as far as a server knows.
struct AgentPlace {
  SessionId session = {};
  std::string project = {};  // empty: not known yet, and all below neither
  std::string pool = {};
  std::string machine = {};
  Resources shape = {0, 0};
};

// The plan that is in force and what runs by it, as one server knows: how much of a job it may
// still grant to an agent, and what agents are to give back. A value.
//
// What other servers have granted is as old as the last Set; what came through this one is as new
// as its last exchange. So of several servers each keeps to the plan, and together they may pass it
// for as long as they do not know of each other: until their next looks at the store.
class PlanBook {
 public:
  // What one item of a job needs, and how long one takes; nothing if that is not known.
  struct JobFacts {
    Resources need;
    std::optional<double> item_ms = {};
    bool has_free = false;  // items that nobody holds
  };
  using Facts = std::function<std::optional<JobFacts>(JobId)>;

  // The store is being asked from now on; Set is told so with what this gives. What syncs bring
  // meanwhile is newer than the store's answer.
  std::int64_t BeginLook() { return ++look_; }
  void Set(PlanInForce plan, std::int64_t look, const Facts& facts);
  // False: nobody plans here, or nobody has looked yet, and nothing is limited by it.
  bool in_force() const { return in_force_; }

  // Of a job on an agent's machine: how many items may begin, of those that fit into `free`; and
  // whether it may have all of the machine, so that more can wait there for those to end. An agent
  // runs as many as fit.
  struct Allowed {
    std::int64_t slots = 0;
    bool whole = false;
  };
  Allowed AllowedFor(const AgentPlace& agent, JobId job, const Resources& need,
                     const Resources& free) const;
  std::int64_t SlotsFor(const AgentPlace& agent, JobId job, const Resources& need,
                        const Resources& free) const;
  // Where a job's items that were interrupted often are to run: also wherever it runs others, if no
  // pool has slots for them; else only, first of all, in pools that have.
  enum class WornHere : std::uint8_t { kAlso, kFirst, kNot };
  WornHere WornIn(const std::string& pool, JobId job) const;
  // So many of them are being asked of the store: they count until its sync is over.
  void Book(const AgentPlace& agent, JobId job, const Resources& need, std::int64_t slots);
  // Its sync was not carried out.
  void Unbook(SessionId session);
  // Its sync is over, and this is what it owes now.
  void Settle(const AgentPlace& agent, const std::map<JobId, std::int64_t>& owed);
  void Forget(SessionId session);
  // The agent could have had more of the job, but for what is booked for others just now.
  void NoteHeldBack(const AgentPlace& agent, JobId job, const Resources& need,
                    const Resources& free);
  // That was so since the last call.
  bool TakeHeldBack() { return std::exchange(held_back_, false); }

  // The jobs of which an agent gives back what it has not begun, as of the last Set; said once.
  std::vector<JobId> TakeBack(SessionId session);
  // All that are asked for something back.
  std::vector<SessionId> AskedBack() const;

 private:
  using Row = std::pair<JobId, std::string>;  // job, pool
  struct Use {
    AgentPlace agent;
    std::map<JobId, std::int64_t> owed;
    std::map<JobId, std::int64_t> booked;
  };

  void UseAnswer(std::vector<SessionUse> uses, std::int64_t look);
  std::int64_t SlotsOf(const Use& use, JobId job) const;
  void Count(const Use& use, int sign);
  void CountAll();
  // The same as AllowedFor, with so much booked for others.
  Allowed AllowedBut(const AgentPlace& agent, JobId job, const Resources& need,
                     const Resources& free, std::int64_t booked) const;
  // Agents with something of the job that they have not begun; see plan_book.cc.
  void AskBack(const Row& row, const Facts& facts);

  bool in_force_ = false;
  std::int64_t look_ = 0;
  std::map<SessionId, std::int64_t> settled_;    // during which look
  std::map<Row, std::int64_t> slots_;            // that the plan gives
  std::map<JobId, std::set<std::string>> worn_;  // pools that have slots for such items
  std::map<std::string, JobId> reserved_;        // by "project/machine id"
  std::map<JobId, Resources> needs_;             // of jobs that run
  std::map<SessionId, Use> uses_;
  std::map<Row, std::int64_t> used_;  // slots
  std::map<Row, std::int64_t> booked_;
  std::map<SessionId, std::vector<JobId>> back_;
  bool held_back_ = false;
};

}  // namespace tidemill
