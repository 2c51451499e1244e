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

// What an agent says it could use.
struct AgentRoom {
  Resources free{0, 0};
  std::set<JobId> resting = {};  // cannot run there for a while
  // What it will still hold when more could be there, see SyncRequest. Nothing: as was known.
  std::optional<std::map<JobId, std::int64_t>> holds = {};
};

// The plan that is in force and what runs by it, as one server knows: how much of a job it may
// still grant to an agent, how many items of it an agent may run side by side, and what agents are
// to give back. A value.
//
// An agent runs no more of a job than its limit here, whatever it holds. So what it holds can be
// seconds of work, also of a job that has only a part of the machine.
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

  // Of a job on an agent's machine: so many more items may begin, of those that fit into what is
  // free, and so many may then run side by side; no limit: as many as fit.
  struct Allowed {
    std::int64_t slots = 0;
    std::optional<std::int64_t> limit = {};
    std::int64_t holds = 0;  // items of it before this
  };
  Allowed AllowedFor(const AgentPlace& agent, JobId job, const Resources& need,
                     const AgentRoom& room) const;
  std::int64_t SlotsFor(const AgentPlace& agent, JobId job, const Resources& need,
                        const AgentRoom& room) const;
  // Items of the job that an agent holds and may not run yet.
  std::int64_t WaitingOn(SessionId session, JobId job) const;
  // Lets the agent run more of what it holds, if the plan has slots for it and the agent has room;
  // what that takes of the room is taken from it.
  void RaiseLimits(const AgentPlace& agent, AgentRoom& room);
  // How many items of each job that it holds an agent may run side by side.
  std::map<JobId, std::int64_t> LimitsOf(SessionId session) const;
  // Where a job's items that were interrupted often are to run: also wherever it runs others, if no
  // pool has slots for them; else only, first of all, in pools that have.
  enum class WornHere : std::uint8_t { kAlso, kFirst, kNot };
  WornHere WornIn(const std::string& pool, JobId job) const;
  // They are being asked of the store: they count until its sync is over.
  void Book(const AgentPlace& agent, JobId job, const Resources& need, const Allowed& allowed);
  // Its sync was not carried out.
  void Unbook(SessionId session);
  // Its sync is over, and this is what it owes now.
  void Settle(const AgentPlace& agent, const std::map<JobId, std::int64_t>& owed);
  void Forget(SessionId session);
  // The agent could have had more of the job, but for what is booked for others just now.
  void NoteHeldBack(const AgentPlace& agent, JobId job, const Resources& need,
                    const AgentRoom& room);
  // That was so since the last call.
  bool TakeHeldBack() { return std::exchange(held_back_, false); }

  // The jobs of which an agent gives back what it has not begun, as of the last Set; said once.
  std::vector<JobId> TakeBack(SessionId session);
  // All that are asked for something back, or have another limit than they were told.
  std::vector<SessionId> ToBeTold() const;

 private:
  using Row = std::pair<JobId, std::string>;  // job, pool
  struct Use {
    AgentPlace agent;
    std::map<JobId, std::int64_t> owed = {};
    std::map<JobId, std::int64_t> booked = {};
    // For those of `owed`; of an agent that syncs elsewhere a guess, see SideBySide.
    std::map<JobId, std::int64_t> limits = {};
    struct Asked {
      std::int64_t limit = 0;  // if it is granted
      std::int64_t holds = 0;  // of it, before
    };
    std::map<JobId, Asked> asked = {};
    struct SaidBack {
      std::int64_t look = 0;
      std::int64_t owed = 0;  // of it, then
    };
    std::map<JobId, SaidBack> said_back = {};
    AgentRoom room = {};           // as of its last sync here
    std::int64_t synced = kNever;  // here: in which look
  };
  static constexpr std::int64_t kNever = -1'000'000;
  // Looks come each second or so: an agent that was silent for longer syncs elsewhere.
  static constexpr std::int64_t kLooksHere = 60;
  static constexpr std::int64_t kLooksBeforeAgain = 15;

  void UseAnswer(std::vector<SessionUse> uses, std::int64_t look);
  bool IsHere(const Use& use) const { return look_ - use.synced <= kLooksHere; }
  void GuessLimits(Use& use) const;
  void FitLimits(Use& use) const;
  Resources Unclaimed(const Use& use, const AgentRoom& room) const;
  static std::int64_t SlotsOf(const Use& use, JobId job);
  static std::int64_t WaitingOf(const Use& use, JobId job);
  void Count(const Use& use, int sign);
  void CountAll();
  // The same as AllowedFor, with so much booked for others.
  Allowed AllowedBut(const AgentPlace& agent, JobId job, const Resources& need,
                     const AgentRoom& room, std::int64_t booked) const;
  bool IsReservedForOthers(const AgentPlace& agent, JobId job) const;
  // True: some limit is another.
  bool RaiseLimits(Use& use, AgentRoom& room);
  // Limits and items that go back; see plan_book.cc.
  void Balance(const Row& row, const Facts& facts);
  void TakeSurplus(const Row& row, std::int64_t surplus);
  void SpreadTail(const Row& row, std::int64_t missing, double item_ms);
  void AskBack(const Use& use, JobId job);
  struct Holder {
    SessionId session;
    std::int64_t slots = 0;
    std::int64_t waits = 0;  // not begun
  };
  std::vector<Holder> HoldersOf(const Row& row) const;

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
  std::set<SessionId> relimited_;  // and not told yet
  bool held_back_ = false;
};

}  // namespace tidemill
