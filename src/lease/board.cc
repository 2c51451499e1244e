// SPDX-License-Identifier: Apache-2.0
#include "lease/board.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/limits.h"

namespace tidemill {

JobBoard::Entry* JobBoard::Find(JobId id) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [id](const Entry& entry) { return entry.job.id == id; });
  return found == jobs_.end() ? nullptr : &*found;
}

void JobBoard::SetJobs(std::vector<BoardJob> jobs) {
  std::map<JobId, Entry> before;
  for (Entry& entry : jobs_) before.emplace(entry.job.id, std::move(entry));
  jobs_.clear();
  std::set<JobId> passed = std::exchange(passed_, {});
  for (BoardJob& job : jobs) {
    if (job.trial > 0 && passed.contains(job.id)) {
      job.trial = 0;
      passed_.insert(job.id);
    }
    const auto found = before.find(job.id);
    const ItemTime time = found == before.end() ? ItemTime() : found->second.time;
    if (found != before.end()) before.erase(found);
    jobs_.push_back({std::move(job), time, false});
  }
  left_.clear();
  for (auto& [id, entry] : before) left_.push_back(std::move(entry.job));
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

void JobBoard::SetPassed(JobId id, bool passed) {
  if (!passed) {
    passed_.erase(id);
    return;
  }
  // One that is not here has been looked at since, or is looked at before it comes back.
  Entry* entry = Find(id);
  if (entry == nullptr) return;
  passed_.insert(id);
  entry->job.trial = 0;
}

void JobBoard::RaiseMemory(JobId id, std::int64_t bytes) {
  Entry* entry = Find(id);
  if (entry == nullptr) return;
  entry->job.resources.memory_bytes = std::max(entry->job.resources.memory_bytes, bytes);
}

const BoardJob* JobBoard::FindJob(JobId id) const {
  for (const Entry& entry : jobs_) {
    if (entry.job.id == id) return &entry.job;
  }
  for (const BoardJob& job : left_) {
    if (job.id == id) return &job;
  }
  return nullptr;
}

// One whose count has run out may still have something: the count is as old as the last look.
bool JobBoard::IsFor(const Entry& entry, const std::string& project) {
  return !entry.dry && (project.empty() || entry.job.project == project);
}

bool JobBoard::Fits(const std::string& project, const Resources& free) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const Entry& entry) {
    return IsFor(entry, project) && SlotsIn(free, entry.job.resources) > 0;
  });
}

bool JobBoard::HasWork(const std::string& project) const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const Entry& entry) { return IsFor(entry, project); });
}

std::vector<Ask> JobBoard::AsksFor(const std::string& project, const Resources& free,
                                   std::int64_t agents, Random& random) {
  std::vector<Ask> asks;
  if (jobs_.empty()) return asks;
  const std::size_t first = turn_++;
  for (std::size_t n = 0; n < jobs_.size() && asks.size() < limits::kAsksPerSync; ++n) {
    const Entry& entry = jobs_[(first + n) % jobs_.size()];
    if (!IsFor(entry, project)) continue;
    const BoardJob& job = entry.job;
    // Of a job on trial one item a slot, however short they are: if all are going to fail, few have
    // when that is known.
    const std::optional<double> item_ms = job.trial > 0 ? std::nullopt : entry.time.Mean();
    const int items = LeaseItems({.slots = SlotsIn(free, job.resources),
                                  .item_ms = item_ms,
                                  .free_items = job.free_items,
                                  .agents = agents});
    if (items == 0) continue;
    asks.push_back(
        {job.id, items, random.NewId<LeaseId>(), job.resources.memory_bytes, free.memory_bytes});
  }
  return asks;
}

std::int32_t JobBoard::cursor(JobId id) const {
  const auto found = cursors_.find(id);
  return found == cursors_.end() ? 0 : found->second;
}

std::int64_t JobBoard::free_items() const {
  std::int64_t items = 0;
  for (const Entry& entry : jobs_) items += entry.dry ? 0 : entry.job.free_items;
  return items;
}

}  // namespace tidemill
