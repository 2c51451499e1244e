// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/notify.h"
#include "model/price.h"

namespace tidemill {

// Who is told of a job, of its spec alone. kInvalid: not a spec, or its `notify` is wrong.
Result<std::vector<NotifyTarget>> ParseNotify(std::string_view document);

// What a receiver is told.
struct JobNews {
  JobEvent event = JobEvent::kSucceeded;
  NotificationId id;
  JobCounts job;
  std::optional<Money> spent = {};  // so far; nothing: nobody knows
  std::int64_t at_ms = 0;           // when it was seen
};
std::string FormatJobNews(const JobNews& news);

// GET /v1/jobs/{job}/notifications
std::string FormatNotifications(const std::vector<Notification>& all);
// Without the job, of which they are.
Result<std::vector<Notification>> ParseNotifications(std::string_view body);

}  // namespace tidemill
