// SPDX-License-Identifier: Apache-2.0
#include "cli/watched_stream.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/byte_stream_testing.h"
#include "base/virtual_loop.h"

namespace tidemill::cli {
namespace {

using std::chrono::minutes;

class WatchedStreamTest : public testing::Test {
 protected:
  void Start(Duration idle) {
    stream_ = std::make_unique<WatchedStream>(loop_, std::make_unique<PlayedByteStream>(play_),
                                              idle, "idle");
    stream_->Start({.on_bytes = [this](std::string_view bytes) { got_ += bytes; },
                    .on_end = [this](const std::string& reason) { ended_ = reason; }});
  }
  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  const std::shared_ptr<PlayedStream> play_ = std::make_shared<PlayedStream>();
  std::unique_ptr<WatchedStream> stream_;
  std::string got_;
  std::string ended_;
};

TEST_F(WatchedStreamTest, PassesOnWhatIsSaid) {
  Start(minutes(10));
  play_->Say("there");
  stream_->Send("here");
  EXPECT_EQ(got_, "there");
  EXPECT_EQ(play_->sent, "here");
  play_->End("closed");
  EXPECT_EQ(ended_, "closed");
}

TEST_F(WatchedStreamTest, EndsWhenNothingWasSaidForLong) {
  Start(minutes(10));
  RunFor(minutes(9));
  play_->Say("x");
  RunFor(minutes(9));
  stream_->Send("y");
  RunFor(minutes(9));
  EXPECT_EQ(ended_, "");
  RunFor(minutes(2));
  EXPECT_EQ(ended_, "idle");
  EXPECT_TRUE(play_->closed);
}

TEST_F(WatchedStreamTest, MayBeIdleForEver) {
  Start(Duration::zero());
  RunFor(minutes(100'000));
  EXPECT_EQ(ended_, "");
}

TEST_F(WatchedStreamTest, EndsWhenItIsToldTo) {
  Start(minutes(10));
  const auto watch = stream_->watch();
  watch->Break("interrupted");
  EXPECT_EQ(ended_, "interrupted");
  ended_.clear();
  watch->Break("again");
  EXPECT_EQ(ended_, "");
}

TEST_F(WatchedStreamTest, NobodyIsToldOnceItIsGone) {
  Start(minutes(10));
  const auto watch = stream_->watch();
  stream_.reset();
  watch->Break("late");
  RunFor(minutes(20));
  EXPECT_EQ(ended_, "");
}

}  // namespace
}  // namespace tidemill::cli
