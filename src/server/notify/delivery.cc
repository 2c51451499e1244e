// SPDX-License-Identifier: Apache-2.0
#include "server/notify/delivery.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/digest.h"
#include "base/limits.h"

namespace tidemill {
namespace {

// A receiver that has more to do than to take it down does that later.
constexpr std::chrono::milliseconds kLongestTry{10'000};
constexpr std::int32_t kMostTries = 20;
constexpr Duration kLongestAge = std::chrono::hours(24);
constexpr Duration kFirstWait = std::chrono::seconds(1);
constexpr Duration kLongestWait = std::chrono::hours(1);
// Of what a receiver answers; enough for its first sentence.
constexpr std::size_t kWordsBytes = 200;

// The first line, as far as it can be printed.
std::string FirstWords(std::string_view body) {
  std::string words(body.substr(0, std::min(body.find_first_of("\r\n"), kWordsBytes)));
  std::replace_if(words.begin(), words.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return words;
}

std::string WhyNot(const HttpResponse& answer) {
  std::string why = "it answers " + std::to_string(answer.status);
  if (answer.status >= 300 && answer.status < 400) return why + "; redirects are not followed";
  const std::string words = FirstWords(answer.body);
  return words.empty() ? why : why + ": " + words;
}

Duration WaitAfter(std::int32_t tries) {
  Duration wait = kFirstWait;
  for (std::int32_t i = 1; i < tries && wait < kLongestWait; ++i) wait *= 2;
  return std::min(wait, kLongestWait);
}

}  // namespace

std::string SignatureOf(const std::string& secret, std::int64_t unix_s, const std::string& body) {
  const std::string t = std::to_string(unix_s);
  return "t=" + t + ",v1=" + Hex(HmacSha256(secret, t + "." + body));
}

HttpCall CallOf(const DueNotification& due, const std::string& target,
                const std::optional<std::string>& secret, std::int64_t unix_s) {
  HttpCall call;
  call.method = "POST";
  call.target = target;
  call.content_type = "application/json";
  call.body = due.body;
  call.timeout = kLongestTry;
  call.headers = {{"User-Agent", "tidemill"},
                  {"Tidemill-Event", std::string(JobEventName(due.event))},
                  {"Tidemill-Delivery", ToString(due.id)}};
  if (secret) {
    call.headers.emplace_back("Tidemill-Signature", SignatureOf(*secret, unix_s, due.body));
  }
  return call;
}

TryEnd EndOf(const DueNotification& due, const Result<HttpResponse>& answer) {
  if (answer && answer->status >= 200 && answer->status < 300) {
    return {.state = NotificationState::kDelivered};
  }
  TryEnd end;
  end.error = answer ? WhyNot(*answer) : answer.error().reason;
  end.error.resize(std::min(end.error.size(), limits::kReasonBytes));
  end.again_in = WaitAfter(due.tries);
  const bool is_refused =
      !answer && (answer.error().code == Code::kForbidden || answer.error().code == Code::kInvalid);
  if (is_refused || due.tries >= kMostTries || due.age + end.again_in > kLongestAge) {
    end.state = NotificationState::kGivenUp;
  }
  return end;
}

}  // namespace tidemill
