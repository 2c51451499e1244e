// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "lease/plan_book.h"
#include "lease/size.h"
#include "model/exchange.h"
#include "model/job.h"

namespace tidemill {

// A job that has something to grant, as of the last look at the store.
struct BoardJob {
  JobId id;
  std::string project;
  Resources resources;
  std::int64_t free_items = 0;  // and those that are to be tried again now
  std::int64_t memory_max = 0;
  int trial = 0;  // while it is on trial, so many failures decide; 0: it is not
};

// What a server knows of the work there is, and so what it asks of the store for an agent. All of
// it is a hint: the store grants what is really free. Jobs take turns, one sync each, inside the
// plan if there is one.
class JobBoard {
 public:
  // The jobs that have free items now, oldest first; all others leave the board. Cursors go back to
  // the start, so that items that came back to chunks long passed are not left for the very end.
  void SetJobs(std::vector<BoardJob> jobs);
  // Nothing free was found: not asked for again before the next SetJobs.
  void MarkDry(JobId id);
  void SetCursor(JobId id, std::int32_t chunk) { cursors_[id] = chunk; }
  void Granted(JobId id, std::int64_t items);
  // The job is no longer on trial, whatever an older look at the store says. False: it is again.
  void SetPassed(JobId id, bool passed);
  // Its items start with so much from now on.
  void RaiseMemory(JobId id, std::int64_t bytes);
  // Also one that has just left the board. Null: not here.
  const BoardJob* FindJob(JobId id) const;
  // Items of the job have run for so long, all together, says an agent of the project. Nothing is
  // kept of jobs that are not here, nor of other projects'.
  void Measure(const std::string& project, JobId id, std::int64_t items, std::int64_t run_ms);

  // Whether an agent with so much room could be given something. Of an agent whose project is not
  // known yet any: the store grants nothing of another one.
  bool Fits(const AgentPlace& agent, const AgentRoom& room) const;
  // The same of an agent of which nobody knows what room it has.
  bool HasWork(const std::string& project) const;
  // The jobs to try for it, in turn; they are booked until its sync is over. Nothing for an agent
  // that nobody knows, while a plan is in force: it belongs to the pool.
  std::vector<Ask> AsksFor(const AgentPlace& agent, AgentRoom room, std::int64_t agents,
                           Random& random);
  PlanBook& book() { return book_; }
  // How long an item of the job takes, if it was here lately and that is known.
  std::optional<double> ItemMs(JobId id) const;
  // Whether something of it is free, as far as is known.
  bool HasFree(JobId id) const;
  // Where the store should look for free chunks of the job first.
  std::int32_t cursor(JobId id) const;
  // Of all jobs that are not dry: no more agents than this could get something.
  std::int64_t free_items() const;

 private:
  struct Entry {
    BoardJob job;
    ItemTime time;
    bool dry = false;
  };
  Entry* Find(JobId id);
  const Entry* FindAny(JobId id) const;
  static bool IsFor(const Entry& entry, const std::string& project);

  std::vector<Entry> jobs_;
  std::vector<Entry> left_;  // those that the last SetJobs took away
  PlanBook book_;
  std::set<JobId> passed_;
  std::size_t turn_ = 0;
  std::map<JobId, std::int32_t> cursors_;
};

}  // namespace tidemill
