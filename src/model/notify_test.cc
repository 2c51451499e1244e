// SPDX-License-Identifier: Apache-2.0
#include "model/notify.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Notify, UrlsAreReadAsTheyAreCalled) {
  EXPECT_EQ(ParseNotifyUrl("https://hooks.example/a?b=c").value(),
            (NotifyUrl{true, "hooks.example", 443, "/a?b=c"}));
  EXPECT_EQ(ParseNotifyUrl("http://hooks.example").value(),
            (NotifyUrl{false, "hooks.example", 80, "/"}));
  EXPECT_EQ(ParseNotifyUrl("https://hooks.example?x").value(),
            (NotifyUrl{true, "hooks.example", 443, "/?x"}));
  EXPECT_EQ(ParseNotifyUrl("http://[2606:4700::1]:8080/").value(),
            (NotifyUrl{false, "2606:4700::1", 8080, "/"}));
  EXPECT_EQ(ParseNotifyUrl("https://a:443/x@y").value(), (NotifyUrl{true, "a", 443, "/x@y"}));
}

TEST(Notify, OtherUrlsAreNone) {
  for (const char* url : {"",
                          "hooks.example",
                          "ftp://a/",
                          "file:///etc/passwd",
                          "gopher://a/",
                          "HTTPS://a/",
                          "https:/a",
                          "https://",
                          "https:///a",
                          "https://:80/",
                          "https://u@a/",
                          "https://u:p@a/",
                          "https://a\\@127.0.0.1/",
                          "https://a#@127.0.0.1/",
                          "https://a/#b",
                          "https://a b/",
                          "https://a/ b",
                          "https://a/\r\nHost: b",
                          "https://a\n/",
                          "https://a%2eb/",
                          "https://[::1",
                          "https://[]/",
                          "https://[fe80::1%25lo]/",
                          "https://::1/",
                          "https://a:/",
                          "https://a:0/",
                          "https://a:65536/",
                          "https://a:80x/",
                          "https://a:22/",
                          "https://a:25/",
                          "http://a:1023/",
                          "https://a:-1/",
                          "https://\xc3\xa4/",
                          "https://a/\xc3\xa4",
                          "//a/",
                          "https://[::1]x/"}) {
    EXPECT_FALSE(ParseNotifyUrl(url)) << "'" << url << "'";
  }
  EXPECT_FALSE(ParseNotifyUrl("https://a/" + std::string(2048, 'a')));
}

TEST(Notify, AJobsStateIsAnEventOnlyIfItIsWorthAWord) {
  JobCounts counts;
  const auto event_in = [&counts](JobState state, std::int64_t failed, const std::string& reason) {
    counts.job.state = state;
    counts.job.reason = reason;
    counts.counts.failed = failed;
    return EventOf(counts);
  };
  EXPECT_EQ(event_in(JobState::kFinished, 0, ""), JobEvent::kSucceeded);
  EXPECT_EQ(event_in(JobState::kFinished, 1, ""), JobEvent::kFailed);
  EXPECT_EQ(event_in(JobState::kCancelled, 1, ""), JobEvent::kCancelled);
  EXPECT_EQ(event_in(JobState::kPaused, 1, "its image"), JobEvent::kPaused);
  EXPECT_EQ(event_in(JobState::kPaused, 1, ""), std::nullopt);
  EXPECT_EQ(event_in(JobState::kActive, 1, ""), std::nullopt);
  EXPECT_EQ(event_in(JobState::kCancelling, 1, ""), std::nullopt);
}

TEST(Notify, NamesAreReadBack) {
  for (const JobEvent event : kJobEvents) EXPECT_EQ(ParseJobEvent(JobEventName(event)), event);
  EXPECT_EQ(ParseJobEvent("finished"), std::nullopt);
  EXPECT_EQ(ParseNotificationState("given_up"), NotificationState::kGivenUp);
  EXPECT_EQ(ParseNotificationState("lost"), std::nullopt);
}

}  // namespace
}  // namespace tidemill
