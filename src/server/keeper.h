// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease/board.h"
#include "lease/expiry.h"
#include "server/deps.h"

namespace tidemill {

// What a server does again and again beside its calls. Every server does all of it: each step takes
// what no other has locked, so any number of them share the work, and none is special. Loop thread
// only.
//
//   poll     notice that something new can be granted, and put it on the board
//   reap     end sessions that nobody has heard of
//   blame    put machines aside on which items fail that succeed elsewhere
//   sweep    carry cancels out, finish jobs
//   roll up  turn the reports of finished chunks into one block each
//   pack     count the chunks of open jobs that are done and in the ledger, and drop them
//   tidy     drop what is stale; check conservation
class Keeper {
 public:
  struct Events {
    std::function<void()> new_work;                                  // the board has something
    std::function<void(const std::vector<SessionId>&)> lost_leases;  // they should sync soon
    std::function<void()> tick;                                      // once a reap round
    std::function<bool()> agents_wait;
    std::function<void(SessionId)> put_aside;                      // it should sync soon
    std::function<void(const std::vector<JobId>&)> followed;       // those that are, with each poll
    std::function<void(const std::vector<AskedStream>&)> streams;  // the same
    std::function<void()> changed;  // a poll has seen that something new can be granted
    std::function<void(const std::vector<SessionId>&)> asked_back;  // they should sync soon
  };

  Keeper(ServerDeps deps, const ServerLimits& limits, JobBoard& board, Events events);
  ~Keeper();
  void Start();
  // Lets the step that is running end, and begins no other.
  void Stop() { stopped_ = true; }

  // Items became free by a commit of ours: look at once, and let the other servers know.
  void WorkFreed();
  // Syncs could not be carried out: nobody may be reaped for having been silent meanwhile.
  void AgentsUnheard() { guard_.Postpone(deps_.loop.Now()); }
  // The job may be finished, or is to be cancelled: looked at in the next round.
  void SweepSoon(JobId job);

 private:
  // A step that runs, waits, and runs again. It ends by calling what it was given: true for 'at
  // once'.
  using Step = std::function<void(std::function<void(bool)>)>;
  void Repeat(Duration period, Step step);
  void Again(Duration delay, Duration period, Step step);

  void Poll(std::function<void(bool)> done);
  void Refresh();
  // What a refresh reads.
  struct Look {
    std::vector<RunnableJob> jobs;
    std::optional<PlanInForce> plan;
    std::map<JobId, Resources> needs;  // of jobs that run, as far as they were not known before
  };
  static Result<Look> TakeLook(Store& store, PlanStore* plans, const std::set<JobId>& known);
  void UseLook(Look look, std::int64_t number);
  void UsePlan(PlanInForce plan, std::int64_t number);
  void Reap(std::function<void(bool)> done);
  void Blame(std::function<void(bool)> done);
  void Sweep(std::function<void(bool)> done);
  void SweepJobs(std::vector<JobId> jobs, bool again, std::function<void(bool)> done);
  void RollUp(std::function<void(bool)> done);
  void Pack(std::function<void(bool)> done);
  void Tidy(std::function<void(bool)> done);
  void Trouble(const char* step, const Error& error);

  const ServerDeps deps_;
  const ServerLimits limits_;
  JobBoard& board_;
  const Events events_;
  ExpiryGuard guard_;
  std::set<TimerId> timers_;
  std::set<JobId> to_sweep_;
  std::int64_t seen_change_ = -1;
  std::int64_t seen_plan_ = -1;
  std::map<JobId, Resources> needs_;  // of jobs that run
  TimePoint refreshed_;               // when the board was last begun to be made anew
  TimePoint refresh_not_before_;
  bool refreshing_ = false;
  bool refresh_wanted_ = true;
  bool announce_wanted_ = false;
  bool stopped_ = false;
};

}  // namespace tidemill
