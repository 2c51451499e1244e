// SPDX-License-Identifier: Apache-2.0
#include "store/memory/notify_table.h"

#include <algorithm>
#include <tuple>

namespace tidemill {

bool NotifyTable::IsTold(const Job& job) const {
  const auto found = told_.find(job.id);
  return found != told_.end() && found->second.state == static_cast<int>(job.state) &&
         found->second.round == job.round;
}

bool NotifyTable::IsBudgetTold(const Job& job) const {
  const auto found = told_.find(job.id);
  return found != told_.end() && found->second.budget == job.round;
}

void NotifyTable::Mark(const Job& job) {
  Told& told = told_[job.id];
  told.state = static_cast<int>(job.state);
  told.round = job.round;
}

void NotifyTable::MarkBudget(const Job& job) { told_[job.id].budget = job.round; }

void NotifyTable::Add(const Job& job, const std::vector<NewNotification>& made,
                      std::int64_t now_us) {
  std::vector<Row>& rows = rows_[job.id];
  for (const NewNotification& one : made) {
    if (std::ssize(rows) == kNotificationsPerJob) return;
    Row& row = rows.emplace_back();
    row.shown.id = one.id;
    row.shown.job = job.id;
    row.shown.round = job.round;
    row.shown.event = one.event;
    row.shown.url = one.url;
    row.shown.created_ms = now_us / 1000;
    row.shown.due_ms = now_us / 1000;
    row.project = job.project;
    row.secret = one.secret;
    row.body = one.body;
    row.created_us = now_us;
    row.due_us = now_us;
  }
}

std::vector<DueNotification> NotifyTable::Take(const DueFilter& filter, std::int64_t now_us) {
  std::vector<Row*> due;
  for (auto& [job, rows] : rows_) {
    for (Row& row : rows) {
      const bool is_due = row.shown.state == NotificationState::kDue && row.due_us <= now_us;
      const auto& but = filter.but;
      if (is_due && std::find(but.begin(), but.end(), row.project) == but.end()) {
        due.push_back(&row);
      }
    }
  }
  std::stable_sort(due.begin(), due.end(), [](const Row* a, const Row* b) {
    return std::tuple(a->shown.tries, a->due_us) < std::tuple(b->shown.tries, b->due_us);
  });
  std::map<std::string, int> of_project;
  std::vector<DueNotification> taken;
  for (Row* const row : due) {
    if (static_cast<int>(taken.size()) == filter.limit) break;
    if (++of_project[row->project] > filter.each) continue;
    ++row->shown.tries;
    row->due_us = now_us + filter.hold.count();
    row->shown.due_ms = row->due_us / 1000;
    taken.push_back({row->shown.id, row->shown.job, row->project, row->shown.event, row->shown.url,
                     row->secret, row->body, row->shown.tries, Duration(now_us - row->created_us)});
  }
  return taken;
}

void NotifyTable::EndTry(NotificationId id, std::int32_t tries, const TryEnd& end,
                         std::int64_t now_us) {
  for (auto& [job, rows] : rows_) {
    for (Row& row : rows) {
      Notification& shown = row.shown;
      if (shown.id != id || shown.state == NotificationState::kDelivered) continue;
      if (end.state == NotificationState::kDelivered) {
        shown.state = end.state;
        shown.error.clear();
        shown.delivered_ms = now_us / 1000;
      } else if (shown.state == NotificationState::kDue && shown.tries == tries) {
        shown.state = end.state;
        shown.error = end.error;
        row.due_us = now_us + end.again_in.count();
        shown.due_ms = row.due_us / 1000;
      }
    }
  }
}

std::vector<Notification> NotifyTable::List(JobId job) const {
  std::vector<Notification> all;
  const auto found = rows_.find(job);
  if (found == rows_.end()) return all;
  for (const Row& row : found->second) all.push_back(row.shown);
  return all;
}

}  // namespace tidemill
