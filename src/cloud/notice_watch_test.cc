// SPDX-License-Identifier: Apache-2.0
#include "cloud/notice_watch.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/virtual_loop.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kAction[] = "meta-data/spot/instance-action";
constexpr char kRebalance[] = "meta-data/events/recommendations/rebalance";
constexpr char kGroup[] = "meta-data/autoscaling/target-lifecycle-state";

// Holds values that a test sets; of Google's, a poll waits until its tag is not the newest.
class FakeMetadata : public Metadata {
 public:
  explicit FakeMetadata(Loop& loop) : loop_(loop) {}

  void Get(const std::string& path, Done done) override {
    ++asked;
    if (down) {
      return Answer(std::move(done), Fail(Code::kUnavailable, "no answer"));
    }
    const std::string plain = path.substr(0, path.find('?'));
    const std::string tag = std::to_string(change);
    if (plain != path && path.ends_with("last_etag=" + tag)) {
      waiting = [this, plain, done] { Get(plain, done); };
      return;
    }
    if (!values.contains(plain)) return Answer(std::move(done), std::optional<MetadataValue>());
    Answer(std::move(done), std::optional(MetadataValue{values[plain], tag}));
  }
  void Change(const std::string& path, const std::string& value) {
    values[path] = value;
    ++change;
    if (auto poll = std::exchange(waiting, {})) poll();
  }

  MetadataValues values;
  int change = 1;
  int asked = 0;
  bool down = false;
  std::function<void()> waiting;

 private:
  void Answer(Done done, Result<std::optional<MetadataValue>> value) {
    loop_.After(milliseconds(1), [done = std::move(done), value] { done(value); });
  }
  Loop& loop_;
};

class CountingLog : public Log {
 public:
  int lines = 0;

 private:
  void Write(std::string_view, std::string_view, Fields) override { ++lines; }
};

class NoticeWatchTest : public ::testing::Test {
 protected:
  void Watch(const std::string& cloud) {
    watch_ = std::make_unique<NoticeWatch>(
        loop_, metadata_, log_,
        NoticeWatchOptions{.cloud = cloud,
                           .now_ms = [] { return std::int64_t{1'777'000'000'000}; }},
        [this](const Notice& notice) { notices_.push_back(notice); });
    watch_->Start([this] { looked_ = true; });
  }
  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  FakeMetadata metadata_{loop_};
  CountingLog log_;
  std::vector<Notice> notices_;
  bool looked_ = false;
  std::unique_ptr<NoticeWatch> watch_;
};

TEST_F(NoticeWatchTest, TellsAnInterruptionOnceWithinASecond) {
  Watch("aws");
  RunFor(seconds(10));
  EXPECT_TRUE(looked_);
  EXPECT_TRUE(notices_.empty());
  metadata_.values[kAction] = R"({"action":"terminate","time":"2026-04-24T03:08:40Z"})";
  const TimePoint before = loop_.Now();
  for (int i = 0; i < 100'000 && notices_.empty(); ++i) loop_.Step();
  ASSERT_FALSE(notices_.empty());
  EXPECT_LE(loop_.Now() - before, seconds(1) + milliseconds(10));
  EXPECT_EQ(notices_[0], (Notice{Notice::Kind::kInterruption, loop_.Now() + seconds(120)}));
  RunFor(seconds(10));
  EXPECT_EQ(notices_.size(), 1U);
}

TEST_F(NoticeWatchTest, TellsARebalanceAndThenTheInterruption) {
  metadata_.values[kRebalance] = R"({"noticeTime":"2026-04-24T03:06:40Z"})";
  Watch("aws");
  RunFor(seconds(2));
  metadata_.values[kAction] = R"({"action":"stop","time":"2026-04-24T03:07:40Z"})";
  RunFor(seconds(2));
  ASSERT_EQ(notices_.size(), 2U);
  EXPECT_EQ(notices_[0].kind, Notice::Kind::kRebalance);
  EXPECT_EQ(notices_[1].kind, Notice::Kind::kInterruption);
}

TEST_F(NoticeWatchTest, WhatStandsAlreadyIsToldBeforeTheFirstLookIsOver) {
  metadata_.values[kGroup] = "Terminated";
  Watch("aws");
  for (int i = 0; i < 100'000 && !looked_; ++i) loop_.Step();
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].kind, Notice::Kind::kEnding);
}

TEST_F(NoticeWatchTest, GoesOnWhenTheServiceDoesNotAnswerAndSaysSoOnce) {
  metadata_.down = true;
  Watch("aws");
  RunFor(seconds(30));
  EXPECT_TRUE(looked_);
  EXPECT_EQ(log_.lines, 1);
  metadata_.down = false;
  metadata_.values[kGroup] = "InService";
  RunFor(seconds(5));
  EXPECT_EQ(log_.lines, 2);
  EXPECT_TRUE(notices_.empty());
  metadata_.values[kGroup] = "Terminated\n";
  RunFor(seconds(2));
  EXPECT_EQ(notices_.size(), 1U);
}

TEST_F(NoticeWatchTest, OfGoogleIsToldAsSoonAsItChanges) {
  metadata_.values["instance/preempted"] = "FALSE";
  Watch("gcp");
  RunFor(seconds(60));
  EXPECT_LE(metadata_.asked, 3);
  EXPECT_TRUE(looked_);
  EXPECT_TRUE(notices_.empty());
  metadata_.Change("instance/preempted", "TRUE");
  RunFor(milliseconds(5));
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].kind, Notice::Kind::kInterruption);
  EXPECT_LE(notices_[0].until, loop_.Now() + seconds(30));
  EXPECT_GE(notices_[0].until, loop_.Now() + seconds(29));
}

TEST_F(NoticeWatchTest, SaysNothingAnyMoreWhenItIsGone) {
  Watch("aws");
  RunFor(seconds(2));
  watch_.reset();
  metadata_.values[kGroup] = "Terminated";
  RunFor(seconds(5));
  EXPECT_TRUE(notices_.empty());
}

TEST(Ec2Notices, AClockThatIsWrongMakesATimeNoLonger) {
  const TimePoint now(seconds(100));
  const auto lead = [&](const std::string& action, std::int64_t now_ms) {
    return ReadEc2Notices({{kAction, action}}, now, now_ms).at(0).until - now;
  };
  const std::string action = R"({"action":"terminate","time":"2026-04-24T03:08:40Z"})";
  constexpr std::int64_t kMs = 1'777'000'000'000;
  EXPECT_EQ(lead(action, kMs), seconds(120));
  EXPECT_EQ(lead(action, kMs + 90'000), seconds(30));
  EXPECT_EQ(lead(action, 0), seconds(120));
  EXPECT_EQ(lead(action, 2 * kMs), seconds(0));
  // What cannot be read leaves no time.
  EXPECT_EQ(lead("{}", kMs), seconds(0));
  EXPECT_EQ(lead("later", kMs), seconds(0));
}

}  // namespace
}  // namespace tidemill
