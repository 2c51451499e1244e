// SPDX-License-Identifier: Apache-2.0
#include "wire/notify_json.h"

#include <gtest/gtest.h>

#include "wire/spec_json.h"

namespace tidemill {
namespace {

TEST(NotifyJson, TargetsAreReadFromASpec) {
  const std::string spec =
      R"({"name":"a","notify":[{"url":"https://h.example/a","on":["failed","budget"],)"
      R"("secret":"hook-key"},{"url":"http://h.example:8080"}]})";
  ASSERT_TRUE(ParseSpec(spec)) << ParseSpec(spec).error().reason;
  const auto targets = ParseNotify(spec).value();
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(
      targets[0],
      (NotifyTarget{"https://h.example/a", {JobEvent::kFailed, JobEvent::kBudget}, "hook-key"}));
  EXPECT_EQ(targets[1].on.size(), kJobEvents.size());
  EXPECT_EQ(targets[1].secret, "");
  EXPECT_TRUE(ParseNotify("{}")->empty());
}

TEST(NotifyJson, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"notify":{}})", "notify: must be an array, not an object"},
      {R"({"notify":[{}]})", "notify[0].url: is missing"},
      {R"({"notify":[{"url":"ftp://a/"}]})",
       "notify[0].url: it does not begin with https:// or http://"},
      {R"({"notify":[{"url":"https://a/","on":[]}]})",
       "notify[0].on: must not be empty; leave it away for all events"},
      {R"({"notify":[{"url":"https://a/","on":["fail"]}]})",
       "notify[0].on[0]: there is no event \"fail\"; did you mean 'failed'?"},
      {R"({"notify":[{"url":"https://a/","on":["failed","failed"]}]})",
       "notify[0].on[1]: is named before; name it once"},
      {R"({"notify":[{"url":"https://a/","secret":"a b"}]})",
       "notify[0].secret: must be letters, digits, '.', '_' and '-', and begin with a letter or "
       "digit"},
  };
  for (const auto& [spec, why] : cases) {
    const auto parsed = ParseSpec(spec);
    ASSERT_FALSE(parsed) << spec;
    EXPECT_EQ(parsed.error().reason, why);
  }
  std::string nine = R"({"notify":[)";
  for (int i = 0; i < 9; ++i) nine += std::string(i > 0 ? "," : "") + R"({"url":"https://a/"})";
  EXPECT_FALSE(ParseSpec(nine + "]}"));
}

TEST(NotifyJson, NewsHaveWhatIsKnownOfTheJob) {
  JobNews news{.event = JobEvent::kPaused, .id = {0, 1}, .job = {}, .at_ms = 1000};
  Job& job = news.job.job;
  job.id = JobId{7};
  job.project = "films";
  job.spec.name = "render";
  job.state = JobState::kPaused;
  job.reason = "no such image";
  news.job.counts = {.total = 3, .succeeded = 1, .failed = 1, .waiting = 1};
  const std::string begin =
      R"({"event":"paused","id":"00000000-0000-0000-0000-000000000001","job":"render-7",)"
      R"("name":"render","project":"films","state":"paused","round":0,"counts":{"total":3,)"
      R"("succeeded":1,"failed":1,"running":0,"waiting":1,"cancelled":0})";
  const std::string end = R"(,"reason":"no such image","at":"1970-01-01T00:00:01.000Z"})";
  EXPECT_EQ(FormatJobNews(news), begin + end);
  news.spent = Money{1'500'000};
  EXPECT_EQ(FormatJobNews(news), begin + R"(,"cost":1.5)" + end);
}

TEST(NotifyJson, NotificationsAreReadBack) {
  Notification due{.id = {1, 2},
                   .job = {},
                   .round = 3,
                   .event = JobEvent::kBudget,
                   .url = "https://h.example/",
                   .tries = 2,
                   .error = "it answers 500",
                   .created_ms = 1000,
                   .due_ms = 5000};
  Notification done = due;
  done.state = NotificationState::kDelivered;
  done.error = "";
  done.due_ms = 0;
  done.delivered_ms = 2000;
  EXPECT_EQ(ParseNotifications(FormatNotifications({due, done})).value(),
            (std::vector<Notification>{due, done}));
  EXPECT_TRUE(ParseNotifications(R"({"notifications":[]})")->empty());
  EXPECT_FALSE(ParseNotifications(R"({"notifications":[{}]})"));
}

}  // namespace
}  // namespace tidemill
