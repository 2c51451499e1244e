// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "model/job.h"

// Who is told what of a job, and what has become of it.
namespace tidemill {

// What of a job is worth a word to somebody who does not look.
enum class JobEvent : std::int16_t {
  kSucceeded = 0,  // it is finished, and no item has failed
  kFailed = 1,     // it is finished, and some have
  kPaused = 2,     // not by a person: it has a reason
  kBudget = 3,     // it stands still: its budget does not pay for one more item
  kCancelled = 4,
};
inline constexpr std::array kJobEvents = {JobEvent::kSucceeded, JobEvent::kFailed,
                                          JobEvent::kPaused, JobEvent::kBudget,
                                          JobEvent::kCancelled};
std::string_view JobEventName(JobEvent event);
std::optional<JobEvent> ParseJobEvent(std::string_view name);

// What a job's state tells; of its budget it knows nothing.
std::optional<JobEvent> EventOf(const JobCounts& counts);

struct NotifyTarget {
  std::string url;
  std::vector<JobEvent> on;  // each once
  std::string secret;        // of the project, signs what is sent; empty: nothing does
  bool operator==(const NotifyTarget&) const = default;
};
// Each is called for each event.
inline constexpr std::size_t kNotifyTargets = 8;

// A URL as it is called.
struct NotifyUrl {
  bool tls = false;
  std::string host;  // an IPv6 address without brackets
  std::uint16_t port = 0;
  std::string target;  // path and query
  bool operator==(const NotifyUrl&) const = default;
};
// kInvalid: not http or https, with a user or a fragment, not encoded, or with a port below 1024
// other than 80 and 443: services that are no web servers listen there, and some take what they do
// not understand for a command.
Result<NotifyUrl> ParseNotifyUrl(std::string_view url);

using NotificationId = Id<struct NotificationTag>;

enum class NotificationState : std::int16_t { kDue = 0, kDelivered = 1, kGivenUp = 2 };
std::string_view NotificationStateName(NotificationState state);
std::optional<NotificationState> ParseNotificationState(std::string_view name);

// Something that one receiver is told, until it has taken it.
struct Notification {
  NotificationId id;  // the same for all tries: who gets two of it drops one
  JobId job;
  std::int32_t round = 0;
  JobEvent event = JobEvent::kSucceeded;
  std::string url;
  NotificationState state = NotificationState::kDue;
  std::int32_t tries = 0;
  std::string error;              // of the last try that was in vain
  std::int64_t created_ms = 0;    // the database's clock
  std::int64_t due_ms = 0;        // while it is due: when it is tried next
  std::int64_t delivered_ms = 0;  // 0: it is not
  bool operator==(const Notification&) const = default;
};

}  // namespace tidemill
