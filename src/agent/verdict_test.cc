// SPDX-License-Identifier: Apache-2.0
#include "agent/verdict.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using How = ItemEnd::How;
using Next = Verdict::Next;

Verdict Judge(How how, std::int32_t exit, StopWhy why = StopWhy::kNone, const RunSpec& spec = {}) {
  return JudgeEnd(spec, {.how = how, .exit = exit, .start_ms = 1}, why);
}

TEST(Verdict, EachEndHasItsCause) {
  EXPECT_EQ(Judge(How::kExited, 0).cause, Cause::kSucceeded);
  EXPECT_EQ(Judge(How::kExited, 3).cause, Cause::kFailed);
  EXPECT_EQ(Judge(How::kSignalled, 137).cause, Cause::kFailed);
  EXPECT_EQ(Judge(How::kNotStarted, 127).cause, Cause::kFailed);
  EXPECT_EQ(Judge(How::kTimedOut, 143).cause, Cause::kTimeout);
  EXPECT_EQ(Judge(How::kOutOfMemory, 137).cause, Cause::kOutOfMemory);
  // What ended as it should before it was stopped has ended so.
  EXPECT_EQ(Judge(How::kExited, 0, StopWhy::kInterrupted).cause, Cause::kSucceeded);
}

TEST(Verdict, AStoppedRunHasTheCauseOfItsStop) {
  EXPECT_EQ(Judge(How::kStopped, 0, StopWhy::kInterrupted).cause, Cause::kInterrupted);
  EXPECT_EQ(Judge(How::kStopped, 143, StopWhy::kMachineFault).cause, Cause::kMachineFault);
  EXPECT_EQ(Judge(How::kStopped, 143, StopWhy::kDisk).cause, Cause::kFailed);
  EXPECT_EQ(Judge(How::kStopped, 143, StopWhy::kMoved).next, Next::kAlone);
  EXPECT_EQ(Judge(How::kStopped, 143, StopWhy::kNone).next, Next::kAgain);
  EXPECT_EQ(Judge(How::kAmongOthers, 137).next, Next::kAlone);
  EXPECT_EQ(Judge(How::kAmongOthers, 137, StopWhy::kDisk).next, Next::kAlone);
  EXPECT_EQ(Judge(How::kAmongOthers, 137, StopWhy::kInterrupted).cause, Cause::kInterrupted);
}

TEST(Verdict, OneThatHadNotBegunIsNoAttempt) {
  const ItemEnd end{.how = How::kStopped};
  EXPECT_EQ(JudgeEnd({}, end, StopWhy::kInterrupted).next, Next::kBack);
  EXPECT_EQ(JudgeEnd({}, end, StopWhy::kMachineFault).next, Next::kBack);
  EXPECT_EQ(JudgeEnd({}, end, StopWhy::kDisk).next, Next::kAgain);
  EXPECT_EQ(JudgeEnd({}, end, StopWhy::kMoved).next, Next::kAgain);
}

TEST(Verdict, RetryRulesGoByTheExitCodeOfItsOwnFailures) {
  RunSpec spec;
  spec.retry_never = {2};
  EXPECT_FALSE(Judge(How::kExited, 3, StopWhy::kNone, spec).final);
  EXPECT_TRUE(Judge(How::kExited, 2, StopWhy::kNone, spec).final);
  spec.retry_on = {75, 2};
  EXPECT_FALSE(Judge(How::kExited, 75, StopWhy::kNone, spec).final);
  EXPECT_TRUE(Judge(How::kExited, 3, StopWhy::kNone, spec).final);
  EXPECT_TRUE(Judge(How::kExited, 2, StopWhy::kNone, spec).final);
  EXPECT_TRUE(Judge(How::kTimedOut, 143, StopWhy::kNone, spec).final);
  EXPECT_FALSE(Judge(How::kExited, 0, StopWhy::kNone, spec).final);
  EXPECT_FALSE(Judge(How::kOutOfMemory, 137, StopWhy::kNone, spec).final);
  EXPECT_FALSE(Judge(How::kStopped, 143, StopWhy::kInterrupted, spec).final);
}

}  // namespace
}  // namespace tidemill
