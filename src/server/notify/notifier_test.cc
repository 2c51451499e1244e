// SPDX-License-Identifier: Apache-2.0
#include "server/notify/notifier.h"

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/random.h"
#include "base/virtual_loop.h"
#include "server/notify/delivery.h"
#include "server/secrets.h"
#include "store/memory/memory_store.h"
#include "store/store_testing.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

// A store in memory, and receivers that a test plays.
class NotifierTest : public ::testing::Test {
 protected:
  struct Called {
    NotifyUrl url;
    HttpCall call;
    Reply<HttpResponse> reply;
  };

  JobId Job(const std::string& notify, const std::string& project = "films") {
    return JobIn(store_, notify, project);
  }
  JobId JobIn(MemoryStore& store, const std::string& notify, const std::string& project = "films") {
    NewJob job;
    job.project = project;
    job.key = std::to_string(++made_);
    job.spec.name = "render";
    job.spec.document = R"({"notify":)" + notify + "}";
    const JobId id = Must(store.CreateJob(job)).id;
    Must(store.AddPart(id, {.number = 0, .digest = "d", .chunks = {}, .range_items = 2}));
    Must(store.SealJob(id, 1));
    return id;
  }
  JobId PausedJob(const std::string& notify, const std::string& project = "films") {
    return PausedJobIn(store_, notify, project);
  }
  JobId PausedJobIn(MemoryStore& store, const std::string& notify,
                    const std::string& project = "films") {
    const JobId id = JobIn(store, notify, project);
    Must(store.PauseJob(id, "no such image"));
    return id;
  }

  // Runs a notifier until this is so, or for many steps of a virtual clock. The store's clock
  // stands still meanwhile.
  bool RunUntil(const std::function<bool()>& is_so) {
    VirtualLoop loop(random_);
    VirtualWorker worker(loop, random_);
    Notifier::Options options;
    options.keys = keys_;
    options.wall_ms = [] { return std::int64_t{1'700'000'000'000}; };
    options.at_once = at_once_;
    options.each = each_;
    const ServerDeps deps{loop, worker, worker, store_, store_, random_, log_};
    Notifier notifier(
        deps, store_,
        [this](const NotifyUrl& url, const HttpCall& call, const Reply<HttpResponse>& reply) {
          called_.push_back({url, call, reply});
          if (answer_) reply(*answer_);
        },
        std::move(options));
    notifier.Start();
    for (int step = 0; step < 100'000 && !is_so(); ++step) loop.Step();
    notifier.Stop();
    for (Called& one : called_) one.reply = nullptr;  // who would hear it is gone
    return is_so();
  }
  bool RunUntilState(JobId job, NotificationState state) {
    return RunUntil([&] {
      const auto all = Must(store_.ListNotifications(job));
      return !all.empty() && all[0].state == state;
    });
  }

  std::int64_t now_us_ = 1'700'000'000'000'000;
  MemoryStore store_{[this] { return now_us_; }};
  SeededRandom random_{1};
  NullLog log_;
  std::shared_ptr<const KeyRing> keys_;
  std::optional<HttpResponse> answer_ = HttpResponse{.status = 204};  // nothing: it hangs
  int at_once_ = 64;
  int each_ = 8;
  std::deque<Called> called_;
  int made_ = 0;
};

const std::string kOne = R"([{"url":"https://hooks.example/a"}])";

TEST_F(NotifierTest, WhatAJobTellsIsCalledAndMarked) {
  const JobId job = PausedJob(kOne);
  ASSERT_TRUE(RunUntilState(job, NotificationState::kDelivered));
  ASSERT_EQ(called_.size(), 1u);
  EXPECT_EQ(called_[0].url, (NotifyUrl{true, "hooks.example", 443, "/a"}));
  EXPECT_NE(called_[0].call.body.find(R"("event":"paused")"), std::string::npos);
  EXPECT_NE(called_[0].call.body.find(R"("reason":"no such image")"), std::string::npos);
  EXPECT_TRUE(Must(store_.ListUntold({}, 9)).empty());
}

TEST_F(NotifierTest, EachReceiverIsToldWhatItAskedFor) {
  const JobId job =
      PausedJob(R"([{"url":"https://a/","on":["failed"]},{"url":"https://b/","on":["paused"]}])");
  ASSERT_TRUE(RunUntilState(job, NotificationState::kDelivered));
  ASSERT_EQ(called_.size(), 1u);
  EXPECT_EQ(called_[0].url.host, "b");
}

TEST_F(NotifierTest, AJobThatRunsTellsNothingAndIsNotLookedAtAgain) {
  Job(kOne);
  ASSERT_TRUE(RunUntil([&] { return Must(store_.ListUntold({}, 9)).empty(); }));
  EXPECT_TRUE(called_.empty());
}

TEST_F(NotifierTest, AServerThatDiesInACallLeavesItToTheNext) {
  const JobId job = PausedJob(kOne);
  answer_ = std::nullopt;
  ASSERT_TRUE(RunUntil([&] { return called_.size() == 1; }));
  EXPECT_EQ(Must(store_.ListNotifications(job))[0].state, NotificationState::kDue);
  answer_ = HttpResponse{.status = 200};
  now_us_ += Duration(std::chrono::seconds(31)).count();
  ASSERT_TRUE(RunUntilState(job, NotificationState::kDelivered));
  ASSERT_EQ(called_.size(), 2u);
  EXPECT_EQ(*FindField(called_[0].call.headers, "Tidemill-Delivery"),
            *FindField(called_[1].call.headers, "Tidemill-Delivery"));
  EXPECT_EQ(called_[0].call.body, called_[1].call.body);
}

TEST_F(NotifierTest, AProjectWhoseReceiversHangHoldsUpNobodyElse) {
  at_once_ = 4;
  each_ = 2;
  answer_ = std::nullopt;
  for (int i = 0; i < 10; ++i) PausedJob(R"([{"url":"https://hole.example/"}])", "holes");
  PausedJob(kOne, "films");
  ASSERT_TRUE(RunUntil([&] { return called_.size() == 3; }));
  int holes = 0;
  for (const Called& one : called_) holes += one.url.host == "hole.example" ? 1 : 0;
  EXPECT_EQ(holes, 2);
}

TEST_F(NotifierTest, WhatCannotBeSignedIsNotSent) {
  const JobId job = PausedJob(R"([{"url":"https://a/","secret":"key"}])");
  const auto tried = [&] {
    const auto all = Must(store_.ListNotifications(job));
    return !all.empty() && !all[0].error.empty();
  };
  ASSERT_TRUE(RunUntil(tried));
  EXPECT_TRUE(called_.empty());
  keys_ = std::make_shared<const KeyRing>(KeyRing::Parse(MakeKeyLine(random_)).value());
  now_us_ += Duration(std::chrono::hours(1)).count();
  ASSERT_TRUE(RunUntil([&] { return Must(store_.ListNotifications(job))[0].tries == 2; }));
  EXPECT_TRUE(called_.empty());
  Must(store_.PutProject("films", {}));
  Must(store_.PutSecret("films", "key",
                        Seal(keys_->first(), "value", SecretContext("films", "key")), "ann"));
  now_us_ += Duration(std::chrono::hours(1)).count();
  ASSERT_TRUE(RunUntilState(job, NotificationState::kDelivered));
  EXPECT_EQ(*FindField(called_.at(0).call.headers, "Tidemill-Signature"),
            SignatureOf("value", 1'700'000'000, called_[0].call.body));
}

// With the store's clock and the notifier's in step: when tries begin, and what is known meanwhile.
class NotifierTimesTest : public NotifierTest {
 protected:
  NotifierTimesTest() {
    Notifier::Options options;
    options.wall_ms = [this] { return NowUs() / 1000; };
    notifier_.emplace(
        ServerDeps{loop_, worker_, worker_, moving_, moving_, random_, log_}, moving_,
        [this](const NotifyUrl& url, const HttpCall& call, const Reply<HttpResponse>& reply) {
          tries_[url.host].push_back(At());
          if (url.host == "good.example") return reply(HttpResponse{.status = 204});
          loop_.After(call.timeout,
                      [reply] { reply(Fail(Code::kUnknown, "there was no answer in time")); });
        },
        std::move(options));
  }

  std::int64_t NowUs() const {
    return 1'700'000'000'000'000 + loop_.Now().time_since_epoch().count();
  }
  Duration At() const { return loop_.Now().time_since_epoch(); }
  void RunTo(Duration time) {
    bool is_over = false;
    loop_.After(time - At(), [&] { is_over = true; });
    while (!is_over) loop_.Step();
  }
  Notification Of(JobId job, const std::string& url) {
    for (const Notification& one : Must(moving_.ListNotifications(job))) {
      if (one.url == url) return one;
    }
    ADD_FAILURE() << "nothing for " << url;
    return {};
  }

  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  MemoryStore moving_{[this] { return NowUs(); }};
  std::map<std::string, std::vector<Duration>> tries_;  // when they began, by host
  std::optional<Notifier> notifier_;
};

TEST_F(NotifierTimesTest, AReceiverThatHangsIsTriedAgainAndHoldsUpNoOther) {
  const std::string hole = "https://hole.example/";
  const std::string good = "https://good.example/";
  const JobId job = PausedJobIn(moving_, R"([{"url":")" + hole + R"("},{"url":")" + good + "\"}]");
  notifier_->Start();
  // Both are begun by the first look; each step of the store takes some milliseconds.
  RunTo(seconds(3));
  EXPECT_EQ(Of(job, good).state, NotificationState::kDelivered);
  EXPECT_EQ(Of(job, hole).state, NotificationState::kDue);
  EXPECT_EQ(Of(job, hole).tries, 1);
  EXPECT_EQ(Of(job, hole).error, "");
  ASSERT_EQ(tries_["hole.example"].size(), 1U);
  // A try has ten seconds, and until then nothing more is known of it.
  const Duration first = tries_["hole.example"][0];
  RunTo(first + seconds(9));
  EXPECT_EQ(Of(job, hole).error, "");
  RunTo(first + seconds(10) + std::chrono::milliseconds(500));
  EXPECT_NE(Of(job, hole).error.find("in time"), std::string::npos);
  EXPECT_EQ(Of(job, hole).tries, 1);
  // The waits are one second, two and four; the notifier looks once a second.
  RunTo(first + seconds(60));
  const std::vector<Duration>& began = tries_["hole.example"];
  ASSERT_GE(began.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    const Duration wait = began[i + 1] - began[i] - seconds(10);
    EXPECT_GE(wait, seconds(1 << i));
    EXPECT_LE(wait, seconds((1 << i) + 2));
  }
  EXPECT_EQ(tries_["good.example"].size(), 1U);
}

}  // namespace
}  // namespace tidemill
