// SPDX-License-Identifier: Apache-2.0
#include "lease/board.h"

#include <algorithm>
#include <set>

#include "base/limits.h"

namespace tidemill {

void JobBoard::SetJobs(std::vector<BoardJob> jobs) {
  std::set<JobId> present;
  jobs_.clear();
  for (BoardJob& job : jobs) {
    present.insert(job.id);
    jobs_.push_back({std::move(job), false});
  }
  const auto absent = [&present](const auto& entry) { return !present.contains(entry.first); };
  std::erase_if(cursors_, absent);
  std::erase_if(times_, absent);
}

void JobBoard::MarkDry(JobId id) {
  for (Entry& entry : jobs_) {
    if (entry.job.id == id) entry.dry = true;
  }
}

void JobBoard::Granted(JobId id, std::int64_t items) {
  for (Entry& entry : jobs_) {
    std::int64_t& free = entry.job.free_items;
    if (entry.job.id == id) free = std::max<std::int64_t>(free - items, 0);
  }
}

void JobBoard::Measure(JobId id, std::int64_t items, std::int64_t run_ms) {
  times_[id].Add(items, run_ms);
}

bool JobBoard::Fits(const Resources& free) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&free](const Entry& entry) {
    return !entry.dry && SlotsIn(free, entry.job.resources) > 0;
  });
}

std::vector<Ask> JobBoard::AsksFor(const Resources& free, std::int64_t agents, Random& random) {
  std::vector<Ask> asks;
  if (jobs_.empty()) return asks;
  const std::size_t first = turn_++;
  for (std::size_t n = 0; n < jobs_.size() && asks.size() < limits::kAsksPerSync; ++n) {
    const Entry& entry = jobs_[(first + n) % jobs_.size()];
    if (entry.dry) continue;
    const auto time = times_.find(entry.job.id);
    const int items =
        LeaseItems({.slots = SlotsIn(free, entry.job.resources),
                    .item_ms = time == times_.end() ? std::nullopt : time->second.Mean(),
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
