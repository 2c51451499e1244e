// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "store/notify_store.h"

namespace tidemill {

// What jobs' states were told, and the notifications.
class NotifyTable {
 public:
  bool IsTold(const Job& job) const;
  bool IsBudgetTold(const Job& job) const;
  void Mark(const Job& job);
  void MarkBudget(const Job& job);
  void Add(const Job& job, const std::vector<NewNotification>& made, std::int64_t now_us);
  std::vector<DueNotification> Take(const DueFilter& filter, std::int64_t now_us);
  void EndTry(NotificationId id, std::int32_t tries, const TryEnd& end, std::int64_t now_us);
  std::vector<Notification> List(JobId job) const;

 private:
  struct Told {
    int state = -1;
    std::int32_t round = -1;
    std::int32_t budget = -1;
  };
  struct Row {
    Notification shown;
    std::string project;
    std::string secret;
    std::string body;
    std::int64_t created_us = 0;
    std::int64_t due_us = 0;
  };
  std::map<JobId, Told> told_;
  std::map<JobId, std::vector<Row>> rows_;
};

}  // namespace tidemill
