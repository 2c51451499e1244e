// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

bool MayNotify(const Job& job) { return job.spec.document.find(kNotifyMark) != std::string::npos; }

bool WatchesBudget(const Job& job) {
  return MayNotify(job) && job.state == JobState::kActive && job.spec.wishes.budget;
}

}  // namespace

Result<std::vector<Job>> MemoryStore::ListUntold(JobId after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Job> untold;
  for (auto it = jobs_.upper_bound(after); it != jobs_.end(); ++it) {
    const Job& job = it->second.job;
    if (static_cast<int>(untold.size()) == limit) break;
    if (job.state == JobState::kDraft || !MayNotify(job) || notify_.IsTold(job)) continue;
    untold.push_back(job);
  }
  return untold;
}

Result<bool> MemoryStore::Tell(const Job& seen, const std::vector<NewNotification>& made) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(const JobRow* row, Row(seen.id));
  const Job& job = row->job;
  if (job.state != seen.state || job.round != seen.round || notify_.IsTold(job)) return false;
  notify_.Mark(job);
  notify_.Add(job, made, clock_us_());
  return true;
}

Result<std::vector<Job>> MemoryStore::ListBudgets(JobId after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Job> jobs;
  for (auto it = jobs_.upper_bound(after); it != jobs_.end(); ++it) {
    const Job& job = it->second.job;
    if (static_cast<int>(jobs.size()) == limit) break;
    if (WatchesBudget(job) && !notify_.IsBudgetTold(job)) jobs.push_back(job);
  }
  return jobs;
}

Result<bool> MemoryStore::TellBudget(const Job& seen, const std::vector<NewNotification>& made) {
  const std::lock_guard lock(mutex_);
  TIDEMILL_TRY(const JobRow* row, Row(seen.id));
  const Job& job = row->job;
  const bool as_seen = job.state == JobState::kActive && job.round == seen.round;
  if (!as_seen || notify_.IsBudgetTold(job)) return false;
  notify_.MarkBudget(job);
  notify_.Add(job, made, clock_us_());
  return true;
}

Result<std::vector<DueNotification>> MemoryStore::TakeDue(const DueFilter& filter) {
  const std::lock_guard lock(mutex_);
  return notify_.Take(filter, clock_us_());
}

Result<void> MemoryStore::EndTry(NotificationId id, std::int32_t tries, const TryEnd& end) {
  const std::lock_guard lock(mutex_);
  notify_.EndTry(id, tries, end, clock_us_());
  return {};
}

Result<std::vector<Notification>> MemoryStore::ListNotifications(JobId job) {
  const std::lock_guard lock(mutex_);
  return notify_.List(job);
}

}  // namespace tidemill
