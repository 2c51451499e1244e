// SPDX-License-Identifier: Apache-2.0
// Jobs on trial, and jobs that learn how much memory their items need.
#include "base/limits.h"
#include "server/server_test.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LeaseWatchTest : public ServerTest {
 protected:
  // What the agent gets for its free room; nothing if there is nothing.
  std::optional<Grant> Take(SessionId session) {
    SyncRequest request = SyncOf(session);
    request.free.memory_bytes = 100 * kOneGiB;
    request.known = known_[session];
    const auto result = Sync(request);
    EXPECT_TRUE(result);
    if (!result || result->grants.empty()) return std::nullopt;
    known_[session].push_back(result->grants[0].lease.id);
    return result->grants[0];
  }

  // The agent has no room left: it settles, and gets nothing.
  void Settle(const Grant& grant, Settlement settlement) {
    SyncRequest request = SyncOf(grant.lease.session);
    request.free = {0, 0};
    request.known = known_[grant.lease.session];
    settlement.lease = grant.lease.id;
    settlement.seq = seq_++;
    request.settlements = {std::move(settlement)};
    ASSERT_TRUE(Sync(request));
    RunFor(milliseconds(50));
  }

  static Settlement FailAll(const Grant& grant, std::int32_t exit, Cause cause = Cause::kFailed) {
    Settlement settlement;
    std::vector<Outcome> rows;
    for (const int offset : grant.lease.mine.Indexes()) {
      Outcome& row = rows.emplace_back();
      row.item = grant.first_item + offset;
      row.cause = cause;
      row.exit = exit;
    }
    const Bits all = grant.lease.mine.Resized(limits::kItemsPerChunk);
    (BudgetOf(cause) == Budget::kNone ? settlement.back : settlement.failed) = all;
    if (BudgetOf(cause) == Budget::kNone) settlement.begun = all;
    settlement.body = EncodeBlock(rows);
    return settlement;
  }

  static Settlement RunOut(const Grant& grant, int items) {
    Settlement settlement;
    settlement.memory = grant.lease.mine.First(items).Resized(limits::kItemsPerChunk);
    return settlement;
  }

  Job Find(JobId job) { return store_.FindJob(job).value(); }

  std::map<SessionId, std::vector<LeaseId>> known_;
  std::int32_t seq_ = 0;
};

TEST_F(LeaseWatchTest, OfAJobOnTrialASlotHasOneItem) {
  store_.trial = 6;
  const JobId job = SubmitRange(1000);
  const SessionId agent = Join();
  SyncRequest request = SyncOf(agent);
  request.free = {0, 0};
  request.measured = {{job, 100, 1000}};
  ASSERT_TRUE(Sync(request));
  const Grant first = *Take(agent);
  EXPECT_EQ(first.lease.mine.Count(), 4) << "though they take no time";
  Settle(first, Succeed(first));
  known_[agent].clear();
  EXPECT_GT(Take(agent)->lease.mine.Count(), 4);
}

TEST_F(LeaseWatchTest, PausesAJobWhoseFirstAttemptsAllFailAlike) {
  store_.trial = 6;
  const JobId job = SubmitRange(1000, 3);
  const SessionId agent = Join();
  const Grant first = *Take(agent);
  Settle(first, FailAll(first, 3));
  EXPECT_EQ(Find(job).state, JobState::kActive);
  known_[agent].clear();
  const Grant second = *Take(agent);
  Settle(second, FailAll(second, 3));
  EXPECT_EQ(Find(job).state, JobState::kPaused);
  EXPECT_TRUE(Find(job).reason.starts_with(
      "its first 6 attempts all failed alike: exit code 3; look at 'tidemill logs "))
      << Find(job).reason;
  EXPECT_EQ(store_.trials_ended, 0);
}

TEST_F(LeaseWatchTest, OneSuccessEndsTheTrial) {
  store_.trial = 3;
  const JobId job = SubmitRange(1000);
  const Grant first = *Take(Join());
  Settlement settlement = FailAll(first, 3);
  settlement.failed.Clear(first.lease.mine.FindFrom(0));
  settlement.ok.Set(first.lease.mine.FindFrom(0));
  Settle(first, settlement);
  EXPECT_EQ(store_.trials_ended, 1);
  EXPECT_EQ(Find(job).state, JobState::kActive);
}

TEST_F(LeaseWatchTest, DifferentFailuresEndTheTrial) {
  store_.trial = 4;
  const JobId job = SubmitRange(1000);
  const Grant grant = *Take(Join());
  Settlement settlement = FailAll(grant, 3);
  auto rows = DecodeBlock(settlement.body).value();
  rows[0].exit = 4;
  settlement.body = EncodeBlock(rows);
  Settle(grant, settlement);
  EXPECT_EQ(store_.trials_ended, 1);
  EXPECT_EQ(Find(job).state, JobState::kActive);
}

TEST_F(LeaseWatchTest, WhatIsNotTheItemsDoingIsNotCounted) {
  store_.trial = 4;
  const JobId job = SubmitRange(1000);
  const SessionId agent = Join();
  for (int i = 0; i < 3; ++i) {
    const Grant grant = *Take(agent);
    Settle(grant, FailAll(grant, 137, Cause::kInterrupted));
    known_[agent].clear();
  }
  EXPECT_EQ(Find(job).state, JobState::kActive);
  EXPECT_EQ(store_.trials_ended, 0);
}

TEST_F(LeaseWatchTest, ACopyOfASettlementCountsOnce) {
  store_.trial = 6;
  const JobId job = SubmitRange(1000, 3);
  const Grant grant = *Take(Join());
  for (int i = 0; i < 3; ++i) Settle(grant, FailAll(grant, 3));
  EXPECT_EQ(Find(job).state, JobState::kActive);
}

TEST_F(LeaseWatchTest, ATrialWhoseEndCouldNotBeWrittenGoesOn) {
  store_.trial = 4;
  SubmitRange(1000);
  const SessionId agent = Join();
  const Grant grant = *Take(agent);
  SyncRequest request = SyncOf(agent);
  request.free = {0, 0};
  request.settlements = {Succeed(grant)};
  std::optional<Result<SyncResult>> answer;
  server_.Sync(request, [&](Result<SyncResult> result) {
    store_.away = true;
    answer = std::move(result);
  });
  RunFor(milliseconds(50));
  store_.away = false;
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ(store_.trials_ended, 1);
  RunFor(seconds(5));
  known_[agent].clear();
  const Grant next = *Take(agent);
  Settle(next, Succeed(next));
  EXPECT_EQ(store_.trials_ended, 2);
}

TEST_F(LeaseWatchTest, LearnsHowMuchMemoryItemsNeed) {
  store_.memory_max = 8 * kOneGiB;
  const JobId job = SubmitRange(1000, 0, {1000, kOneGiB});
  const Grant grant = *Take(Join());
  Settle(grant, RunOut(grant, 2));
  EXPECT_TRUE(store_.raised.empty());
  Settle(grant, RunOut(grant, 3));
  EXPECT_EQ(store_.raised, (std::vector<std::int64_t>{2 * kOneGiB}));
  Settle(grant, RunOut(grant, 4));
  EXPECT_EQ(store_.raised.size(), 1u);
  EXPECT_EQ(Find(job).state, JobState::kActive);
}

TEST_F(LeaseWatchTest, RunningOutOfMemoryIsNoFailureWhileThereIsMore) {
  store_.trial = 4;
  store_.memory_max = 8 * kOneGiB;
  const JobId job = SubmitRange(1000, 0, {1000, kOneGiB});
  const Grant grant = *Take(Join());
  Settlement settlement = FailAll(grant, 137, Cause::kOutOfMemory);
  std::swap(settlement.memory, settlement.failed);
  Settle(grant, settlement);
  EXPECT_EQ(Find(job).state, JobState::kActive);
}

TEST_F(LeaseWatchTest, AJobThatIsNeverGivenEnoughMemoryIsPaused) {
  store_.trial = 4;
  const JobId job = SubmitRange(1000, 0, {1000, kOneGiB});
  const Grant grant = *Take(Join());
  Settlement settlement = FailAll(grant, 137, Cause::kOutOfMemory);
  std::swap(settlement.memory, settlement.failed);
  Settle(grant, settlement);
  EXPECT_EQ(Find(job).state, JobState::kPaused);
  EXPECT_TRUE(Find(job).reason.starts_with("its first 4 attempts all failed alike: out of memory"))
      << Find(job).reason;
}

}  // namespace
}  // namespace tidemill
