// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "sim/item_play.h"
#include "sim/plan.h"

namespace tidemill {

// What an item needs of memory whenever it is run, from a MiB up to a GiB; half of them little.
std::int64_t MemoryOf(const Script& script, std::int64_t item);

// One time that an item was begun.
struct ItemBegin {
  TimePoint would_end{};  // if nothing comes between
  std::int32_t exit = 0;
};

// Plays the items of a plan's jobs on real agents, and writes down what was run: what the servers
// record must agree with it. Played agents do not appear here.
class PlannedItems : public ItemPlay {
 public:
  // `on_kill`: another machine has died of an item of the job, of which so many have died.
  PlannedItems(Loop& loop, const SimPlan& plan, std::function<void(JobId, std::int64_t)> on_kill);

  void Know(JobId job, const PlannedJob& planned) { jobs_[job] = planned; }
  PlayedItem Begin(const std::string& machine, JobId job, std::int64_t item) override;

  void Gone(const std::string& machine) override;
  void Kill(JobId job, std::int64_t item) override { on_kill_(job, ++kills_[{job, item}]); }

  bool IsPoison(JobId job, std::int64_t item) const;
  // In the order of time.
  const std::vector<ItemBegin>& BeginsOf(JobId job, std::int64_t item) const;
  // The last time that an item of the job was begun.
  TimePoint LastBegin(JobId job) const;
  // Of machines that worked with all their slots; what was cut short with its agent counts as far
  // as it came, what an agent stopped by itself wholly.
  double machine_hours() const { return machine_seconds_ / 3600; }

 private:
  // The seconds of a machine that a slot's time is.
  double MachineSeconds(const std::string& machine, Duration time) const;

  Loop& loop_;
  const SimPlan& plan_;
  const std::function<void(JobId, std::int64_t)> on_kill_;
  std::map<JobId, PlannedJob> jobs_;
  std::map<std::pair<JobId, std::int64_t>, std::vector<ItemBegin>> begins_;
  std::map<std::pair<JobId, std::int64_t>, std::int64_t> kills_;
  std::map<JobId, TimePoint> last_;
  std::map<std::string, std::vector<TimePoint>> ends_;  // of what runs on a machine, by its name
  double machine_seconds_ = 0;
};

}  // namespace tidemill
