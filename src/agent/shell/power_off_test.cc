// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/power_off.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "agent/shell/cloud_machine.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

// Says what it is told to.
class PlayedEnd : public MachineEnd {
 public:
  PlayedEnd(Loop& loop, Result<void> answer, int& calls)
      : loop_(loop), answer_(std::move(answer)), calls_(calls) {}
  void End(std::function<void(Result<void>)> done) override {
    ++calls_;
    loop_.After({}, [done = std::move(done), answer = answer_] { done(answer); });
  }

 private:
  Loop& loop_;
  const Result<void> answer_;
  int& calls_;
};

class PowerOffTest : public ::testing::Test {
 protected:
  Result<void> End(MachineEnd& end) {
    std::optional<Result<void>> got;
    end.End([&](const Result<void>& result) {
      got = result;
      loop_.Stop();
    });
    EXPECT_FALSE(got) << "called from inside";
    loop_.Run();
    return *got;
  }
  // What comes of a group that says this.
  Result<void> EndWith(Result<void> group) {
    const auto end = EndInTurn(
        loop_, log_, std::make_unique<PlayedEnd>(loop_, std::move(group), by_group_),
        std::make_unique<PlayedEnd>(loop_, Result<void>(), by_command_), milliseconds(20));
    return End(*end);
  }

  AsioLoop loop_;
  NullLog log_;
  int by_group_ = 0;
  int by_command_ = 0;
};

TEST_F(PowerOffTest, RunsTheCommandOfAShell) {
  const std::string file = ::testing::TempDir() + "/tidemill-off-" + std::to_string(getpid());
  const auto end = EndByCommand(loop_, "echo off > " + file + " && true");
  EXPECT_TRUE(End(*end));
  EXPECT_TRUE(std::filesystem::exists(file));
  std::filesystem::remove(file);
}

TEST_F(PowerOffTest, SaysThatTheCommandFailed) {
  const auto end = EndByCommand(loop_, "exit 3");
  EXPECT_EQ(End(*end).error().reason, "exit code 3");
}

TEST_F(PowerOffTest, ComesAfterTheGroupHasRefused) {
  EXPECT_TRUE(EndWith(Fail(Code::kForbidden, "no")));
  EXPECT_EQ(by_group_, 1);
  EXPECT_EQ(by_command_, 1);
}

TEST_F(PowerOffTest, ComesAlsoIfTheGroupTakesTooLong) {
  const TimePoint before = loop_.Now();
  EXPECT_TRUE(EndWith({}));
  EXPECT_GE(loop_.Now() - before, milliseconds(20));
  EXPECT_EQ(by_group_, 1);
  EXPECT_EQ(by_command_, 1);
}

TEST_F(PowerOffTest, IsAllThereIsWithoutAGroup) {
  const auto end = EndInTurn(loop_, log_, nullptr,
                             std::make_unique<PlayedEnd>(loop_, Result<void>(), by_command_));
  EXPECT_TRUE(End(*end));
  EXPECT_EQ(by_command_, 1);
}

}  // namespace
}  // namespace tidemill
