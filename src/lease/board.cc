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
  for (auto& [id, entry] : before) left_.push_back(std::move(entry));
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

const JobBoard::Entry* JobBoard::FindAny(JobId id) const {
  for (const auto* entries : {&jobs_, &left_}) {
    for (const Entry& entry : *entries) {
      if (entry.job.id == id) return &entry;
    }
  }
  return nullptr;
}

const BoardJob* JobBoard::FindJob(JobId id) const {
  const Entry* entry = FindAny(id);
  return entry == nullptr ? nullptr : &entry->job;
}

std::optional<double> JobBoard::ItemMs(JobId id) const {
  const Entry* entry = FindAny(id);
  return entry == nullptr ? std::nullopt : entry->time.Mean();
}

bool JobBoard::HasFree(JobId id) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [id](const Entry& entry) {
    return entry.job.id == id && !entry.dry && entry.job.free_items > 0;
  });
}

// One whose count has run out may still have something: the count is as old as the last look.
bool JobBoard::IsFor(const Entry& entry, const std::string& project) {
  return !entry.dry && (project.empty() || entry.job.project == project);
}

bool JobBoard::Fits(const AgentPlace& agent, const AgentRoom& room) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const Entry& entry) {
    if (!IsFor(entry, agent.project)) return false;
    if (agent.project.empty()) return SlotsIn(room.free, entry.job.resources) > 0;
    return book_.SlotsFor(agent, entry.job.id, entry.job.resources, room) > 0;
  });
}

bool JobBoard::HasWork(const std::string& project) const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const Entry& entry) { return IsFor(entry, project); });
}

std::vector<Ask> JobBoard::AsksFor(const AgentPlace& agent, AgentRoom room, std::int64_t agents,
                                   Random& random) {
  std::vector<Ask> asks;
  book_.RaiseLimits(agent, room);
  if (jobs_.empty() || (book_.in_force() && agent.project.empty())) return asks;
  const std::size_t first = turn_++;
  for (std::size_t n = 0; n < jobs_.size() && asks.size() < limits::kAsksPerSync; ++n) {
    const Entry& entry = jobs_[(first + n) % jobs_.size()];
    if (!IsFor(entry, agent.project)) continue;
    const BoardJob& job = entry.job;
    // Of a job on trial one item a slot, however short they are: if all are going to fail, few have
    // when that is known.
    const std::optional<double> item_ms = job.trial > 0 ? std::nullopt : entry.time.Mean();
    book_.NoteHeldBack(agent, job.id, job.resources, room);
    const PlanBook::Allowed allowed = book_.AllowedFor(agent, job.id, job.resources, room);
    const int items = LeaseItems({.slots = allowed.slots,
                                  .item_ms = item_ms,
                                  .free_items = job.free_items,
                                  .agents = agents});
    if (items == 0) continue;
    book_.Book(agent, job.id, job.resources, allowed);
    Ask ask{job.id, items, random.NewId<LeaseId>(), job.resources.memory_bytes,
            room.free.memory_bytes};
    const PlanBook::WornHere worn = book_.WornIn(agent.pool, job.id);
    if (worn == PlanBook::WornHere::kNot) ask.worn = WornItems::kNot;
    if (worn == PlanBook::WornHere::kFirst) {
      asks.push_back(
          {job.id, 1, random.NewId<LeaseId>(), ask.memory_bytes, ask.room_bytes, WornItems::kOnly});
    }
    asks.push_back(ask);
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
