// SPDX-License-Identifier: Apache-2.0
#include "cli/then.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

JobCounts AJobThatFailed() {
  JobCounts job;
  job.job.id = JobId{7};
  job.job.spec.name = "render";
  job.job.state = JobState::kFinished;
  job.counts = {.total = 3, .succeeded = 2, .failed = 1};
  return job;
}

TEST(Then, TheCommandIsToldOfTheJobAndItsExitCodeIsOurs) {
  const auto file = std::filesystem::path(testing::TempDir()) / "then";
  const std::string command =
      "echo $TIDEMILL_JOB $TIDEMILL_EVENT $TIDEMILL_STATE $TIDEMILL_FAILED of $TIDEMILL_TOTAL > " +
      file.string() + "; exit 7";
  EXPECT_EQ(RunThen({}, command, JobEvent::kFailed, AJobThatFailed()), 7);
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), "render-7 failed finished 1 of 3\n");
  EXPECT_EQ(RunThen({}, "kill -9 $$", JobEvent::kFailed, AJobThatFailed()), 137);
  EXPECT_EQ(RunThen({}, "test -n \"$PATH\"", JobEvent::kFailed, AJobThatFailed()), 0);
}

// A reason is whatever a registry or a machine has said.
TEST(Then, AReasonIsAVariableAndNoPartOfTheCommand) {
  JobCounts job = AJobThatFailed();
  job.job.reason = "$(exit 3); exit 4 `exit 5`";
  EXPECT_EQ(RunThen({}, "test \"$TIDEMILL_REASON\" = '$(exit 3); exit 4 `exit 5`'",
                    JobEvent::kPaused, job),
            0);
}

Notification In(NotificationState state, const std::string& error) {
  Notification one;
  one.state = state;
  one.error = error;
  return one;
}

TEST(Then, OneLineSaysWhoWasTold) {
  EXPECT_EQ(ToldText({}), "");
  const Notification done = In(NotificationState::kDelivered, "");
  const Notification due = In(NotificationState::kDue, "it answers 500");
  const Notification gone = In(NotificationState::kGivenUp, "refused");
  EXPECT_EQ(ToldText({done, done}), "2 delivered");
  EXPECT_EQ(ToldText({done, due}), "1 delivered, 1 to be tried (it answers 500)");
  EXPECT_EQ(ToldText({gone}), "1 given up (refused)");
}

}  // namespace
}  // namespace tidemill::cli
