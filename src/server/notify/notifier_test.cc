// SPDX-License-Identifier: Apache-2.0
#include "server/notify/notifier.h"

#include <deque>
#include <optional>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/random.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"
#include "server/notify/delivery.h"
#include "server/secrets.h"
#include "store/memory/memory_store.h"
#include "store/store_testing.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

// A store in memory, and receivers that a test plays.
class NotifierTest : public ::testing::Test {
 protected:
  struct Called {
    NotifyUrl url;
    HttpCall call;
    Reply<HttpResponse> reply;
  };

  JobId Job(const std::string& notify, const std::string& project = "films") {
    NewJob job;
    job.project = project;
    job.key = std::to_string(++made_);
    job.spec.name = "render";
    job.spec.document = R"({"notify":)" + notify + "}";
    const JobId id = Must(store_.CreateJob(job)).id;
    Must(store_.AddPart(id, {.number = 0, .digest = "d", .chunks = {}, .range_items = 2}));
    Must(store_.SealJob(id, 1));
    return id;
  }
  JobId PausedJob(const std::string& notify, const std::string& project = "films") {
    const JobId id = Job(notify, project);
    Must(store_.PauseJob(id, "no such image"));
    return id;
  }

  // Runs a notifier until this is so, or for some seconds.
  bool RunUntil(const std::function<bool()>& is_so) {
    AsioLoop loop;
    ThreadPool pool(loop, 1);
    Notifier::Options options;
    options.keys = keys_;
    options.wall_ms = [] { return std::int64_t{1'700'000'000'000}; };
    options.every = milliseconds(2);
    options.at_once = at_once_;
    options.each = each_;
    const ServerDeps deps{loop, pool, pool, store_, store_, random_, log_};
    Notifier notifier(
        deps, store_,
        [this](const NotifyUrl& url, const HttpCall& call, const Reply<HttpResponse>& reply) {
          called_.push_back({url, call, reply});
          if (answer_) reply(*answer_);
        },
        std::move(options));
    notifier.Start();
    bool was_so = false;
    int looks = 0;
    std::function<void()> look = [&] {
      was_so = is_so();
      if (was_so || ++looks > 2000) {
        notifier.Stop();
        return loop.Stop();
      }
      loop.After(milliseconds(2), look);
    };
    loop.After(milliseconds(2), look);
    loop.Run();
    for (Called& one : called_) one.reply = nullptr;  // who would hear it is gone
    return was_so;
  }
  bool RunUntilState(JobId job, NotificationState state) {
    return RunUntil([&] {
      const auto all = Must(store_.ListNotifications(job));
      return !all.empty() && all[0].state == state;
    });
  }

  std::int64_t now_us_ = 1'700'000'000'000'000;
  MemoryStore store_{[this] { return now_us_; }};
  SystemRandom random_;
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

}  // namespace
}  // namespace tidemill
