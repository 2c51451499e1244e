// SPDX-License-Identifier: Apache-2.0
#include "model/notify.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/limits.h"

namespace tidemill {
namespace {

constexpr std::string_view kEvents[] = {"succeeded", "failed", "paused", "budget", "cancelled"};
constexpr std::string_view kStates[] = {"due", "delivered", "given_up"};

constexpr std::uint16_t kPlainPort = 80;
constexpr std::uint16_t kTlsPort = 443;
constexpr std::uint16_t kFirstFreePort = 1024;

bool IsOfName(char c) { return IsLetterOrDigit(c) || c == '.' || c == '-' || c == '_'; }
bool IsOfSix(char c) { return IsLetterOrDigit(c) || c == ':' || c == '.'; }
bool IsOfTarget(char c) { return c > ' ' && c < 127 && c != '#'; }

template <typename Is>
bool All(std::string_view text, Is is) {
  return std::all_of(text.begin(), text.end(), is);
}

Result<std::uint16_t> ReadPort(std::string_view text, std::uint16_t absent) {
  if (text.empty()) return absent;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 1, end, port);
  if (text[0] != ':' || error != std::errc{} || rest != end || port == 0) {
    return Fail(Code::kInvalid, "its port is not a number from 1 to 65535");
  }
  if (port < kFirstFreePort && port != kPlainPort && port != kTlsPort) {
    return Fail(Code::kInvalid, "of the ports below 1024 only 80 and 443 are called");
  }
  return port;
}

}  // namespace

std::string_view JobEventName(JobEvent event) { return kEvents[static_cast<int>(event)]; }

std::optional<JobEvent> ParseJobEvent(std::string_view name) {
  const auto* const found = std::find(std::begin(kEvents), std::end(kEvents), name);
  if (found == std::end(kEvents)) return std::nullopt;
  return static_cast<JobEvent>(found - std::begin(kEvents));
}

std::string_view NotificationStateName(NotificationState state) {
  return kStates[static_cast<int>(state)];
}

std::optional<NotificationState> ParseNotificationState(std::string_view name) {
  const auto* const found = std::find(std::begin(kStates), std::end(kStates), name);
  if (found == std::end(kStates)) return std::nullopt;
  return static_cast<NotificationState>(found - std::begin(kStates));
}

std::optional<JobEvent> EventOf(const JobCounts& counts) {
  switch (counts.job.state) {
    case JobState::kFinished:
      return counts.counts.failed > 0 ? JobEvent::kFailed : JobEvent::kSucceeded;
    case JobState::kCancelled:
      return JobEvent::kCancelled;
    case JobState::kPaused:
      if (counts.job.reason.empty()) return std::nullopt;
      return JobEvent::kPaused;
    case JobState::kDraft:
    case JobState::kActive:
    case JobState::kCancelling:
      break;
  }
  return std::nullopt;
}

Result<NotifyUrl> ParseNotifyUrl(std::string_view url) {
  constexpr std::string_view kPlain = "http://";
  constexpr std::string_view kTls = "https://";
  if (url.size() > limits::kUrlBytes) {
    return Fail(Code::kInvalid, "it has more than " + std::to_string(limits::kUrlBytes) + " bytes");
  }
  NotifyUrl parsed;
  parsed.tls = url.starts_with(kTls);
  if (!parsed.tls && !url.starts_with(kPlain)) {
    return Fail(Code::kInvalid, "it does not begin with https:// or http://");
  }
  url.remove_prefix(parsed.tls ? kTls.size() : kPlain.size());
  const std::size_t path = std::min(url.find_first_of("/?#"), url.size());
  std::string_view place = url.substr(0, path);
  const std::string_view target = url.substr(path);
  if (place.find('@') != place.npos) {
    return Fail(Code::kInvalid, "it has a user in it; sign with a 'secret' instead");
  }
  const bool is_six = place.starts_with('[');
  const std::size_t end = is_six ? place.find(']') : std::min(place.find(':'), place.size());
  const std::string_view host = is_six ? place.substr(1, end - 1) : place.substr(0, end);
  const bool is_host = !host.empty() && end != place.npos && All(host, is_six ? IsOfSix : IsOfName);
  if (!is_host) return Fail(Code::kInvalid, "its host is missing, or none");
  TIDEMILL_TRY(parsed.port,
               ReadPort(place.substr(is_six ? end + 1 : end), parsed.tls ? kTlsPort : kPlainPort));
  if (!All(target, IsOfTarget)) {
    return Fail(Code::kInvalid, "its path is not encoded, or it has a fragment");
  }
  parsed.host = host;
  parsed.target = target.starts_with('/') ? "" : "/";
  parsed.target += target;
  return parsed;
}

}  // namespace tidemill
