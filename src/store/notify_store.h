// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/job.h"
#include "model/notify.h"

namespace tidemill {

// A spec that has this may have somebody to tell; who reads it knows. In a string of the spec it
// cannot stand, as its quotes would be escaped.
inline constexpr std::string_view kNotifyMark = "\"notify\":";

// Of one job, in all of its rounds: a job that is paused and resumed by a program again and again
// fills no database. What is beyond is not told.
inline constexpr int kNotificationsPerJob = 200;

struct NewNotification {
  NotificationId id;
  JobEvent event = JobEvent::kSucceeded;
  std::string url;
  std::string secret;  // its name; empty: not signed
  std::string body;    // what is sent, the same with each try
};

// One that is to be sent now.
struct DueNotification {
  NotificationId id;
  JobId job;
  std::string project;
  JobEvent event = JobEvent::kSucceeded;
  std::string url;
  std::string secret;
  std::string body;
  std::int32_t tries = 0;  // this one among them
  Duration age{};
};

struct DueFilter {
  int limit = 1;
  int each = 1;                       // of one project, at most
  std::vector<std::string> but = {};  // none of these projects
  Duration hold{};  // due again after so long, should nobody say what became of it
};

// How a try has ended.
struct TryEnd {
  NotificationState state = NotificationState::kDue;
  Duration again_in{};  // of kDue
  std::string error = {};
};

// Who is to be told of jobs, and has not been yet. What is to be told is derived from the jobs' own
// rows, so a crash between a job's end and its notifications loses none of them. As Store: each
// call is one transaction, may be repeated, and may come from any thread.
class NotifyStore {
 public:
  virtual ~NotifyStore() = default;

  // Jobs after this one, but drafts, with kNotifyMark, whose state and round are not marked as
  // told; by id.
  virtual Result<std::vector<Job>> ListUntold(JobId after, int limit) = 0;
  // Marks the state and round of `seen` as told, with these notifications, due at once: all of it,
  // or nothing and false if the job is another by now, or is marked already.
  virtual Result<bool> Tell(const Job& seen, const std::vector<NewNotification>& made) = 0;

  // Active jobs after this one, with kNotifyMark and a budget, of whose budget nothing was told in
  // this round; by id.
  virtual Result<std::vector<Job>> ListBudgets(JobId after, int limit) = 0;
  // As Tell, for the round's budget, while it is active.
  virtual Result<bool> TellBudget(const Job& seen, const std::vector<NewNotification>& made) = 0;

  // Takes notifications that are due, of each project those first that were tried least. Others who
  // ask do not get them until `hold` has passed.
  virtual Result<std::vector<DueNotification>> TakeDue(const DueFilter& filter) = 0;
  // What became of the try of that number. One that was delivered is, whatever else is said of it;
  // of a try that is not the last one, nothing else counts.
  virtual Result<void> EndTry(NotificationId id, std::int32_t tries, const TryEnd& end) = 0;

  // Of a job, oldest first.
  virtual Result<std::vector<Notification>> ListNotifications(JobId job) = 0;
};

}  // namespace tidemill
