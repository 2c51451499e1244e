// SPDX-License-Identifier: Apache-2.0
#include "lease/board.h"

#include <algorithm>

#include "base/limits.h"

namespace tidemill {

JobBoard::Entry* JobBoard::Find(JobId id) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [id](const Entry& entry) { return entry.job.id == id; });
  return found == jobs_.end() ? nullptr : &*found;
}

void JobBoard::SetJobs(std::vector<BoardJob> jobs) {
  std::map<JobId, ItemTime> times;
  for (const Entry& entry : jobs_) times[entry.job.id] = entry.time;
  jobs_.clear();
  for (const BoardJob& job : jobs) jobs_.push_back({job, times[job.id], false});
  cursors_.clear();
}

void JobBoard::MarkDry(JobId id) {
  if (Entry* entry = Find(id)) entry->dry = true;
}

void JobBoard::Granted(JobId id, std::int64_t items) {
  Entry* entry = Find(id);
  if (entry == nullptr) return;
  entry->job.free_items = std::max<std::int64_t>(entry->job.free_items - items, 0);
}

void JobBoard::Measure(const std::string& project, JobId id, std::int64_t items,
                       std::int64_t run_ms) {
  Entry* entry = Find(id);
  if (entry != nullptr && entry->job.project == project) entry->time.Add(items, run_ms);
}

bool JobBoard::Fits(const std::string& project, const Resources& free) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const Entry& entry) {
    return entry.IsFor(project) && SlotsIn(free, entry.job.resources) > 0;
  });
}

std::vector<Ask> JobBoard::AsksFor(const std::string& project, const Resources& free,
                                   std::int64_t agents, Random& random) {
  std::vector<Ask> asks;
  if (jobs_.empty()) return asks;
  const std::size_t first = turn_++;
  for (std::size_t n = 0; n < jobs_.size() && asks.size() < limits::kAsksPerSync; ++n) {
    const Entry& entry = jobs_[(first + n) % jobs_.size()];
    if (!entry.IsFor(project)) continue;
    const int items = LeaseItems({.slots = SlotsIn(free, entry.job.resources),
                                  .item_ms = entry.time.Mean(),
                                  .free_items = entry.job.free_items,
                                  .agents = agents});
    if (items > 0) asks.push_back({entry.job.id, items, random.NewId<LeaseId>()});
  }
  return asks;
}

std::int32_t JobBoard::cursor(JobId id) const {
  const auto found = cursors_.find(id);
  return found == cursors_.end() ? 0 : found->second;
}

std::int64_t JobBoard::free_items() const {
  std::int64_t items = 0;
  for (const Entry& entry : jobs_) {
    if (!entry.dry) items += entry.job.free_items;
  }
  return items;
}

}  // namespace tidemill
