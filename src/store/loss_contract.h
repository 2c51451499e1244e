// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "store/rules.h"
#include "store/store_testing.h"

// Machines that vanish, and items that run once more.
namespace tidemill {

TEST_P(StoreTest, OnlyExpiredSessionsAreReaped) {
  const SessionId over = Joined(kOver);
  Joined(kLong);
  const Reaped reaped = Must(store().Reap(10));
  EXPECT_EQ(reaped.sessions, std::vector<SessionId>{over});
  EXPECT_TRUE(Must(store().Reap(10)).sessions.empty());
  EXPECT_TRUE(Sync(From(over)).lost);
}

TEST_P(StoreTest, ReapingIsBounded) {
  for (int i = 0; i < 3; ++i) Joined(kOver);
  EXPECT_EQ(Must(store().Reap(2)).sessions.size(), 2u);
  EXPECT_EQ(Must(store().Reap(2)).sessions.size(), 1u);
}

TEST_P(StoreTest, WhatALostMachineOwedIsFreeAgain) {
  const JobId job = Sealed();
  const SessionId session = Joined(kLong);
  const Lease lease = Take(session, job, 4);
  SyncOrder last = Tells(session, lease.id, {.ok = Items({0})});
  last.life = kOver;
  Sync(last);
  const Reaped reaped = Must(store().Reap(10));
  EXPECT_EQ(reaped, (Reaped{{session}, {job}, 3, 0}));
  const Chunk chunk = ChunkOf(job);
  EXPECT_EQ(chunk.done, In(8, {0}));
  EXPECT_TRUE(chunk.leased.None());
  EXPECT_EQ(chunk.lost1, In(8, {1, 2, 3}));
}

TEST_P(StoreTest, ALateReportOfASessionThatNobodyHasReapedCounts) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 4);
  SyncOrder last = From(session, {lease.id});
  last.life = kOver;
  Sync(last);
  Tell(lease, {.ok = Upto(4)});
  EXPECT_EQ(CountsOf(job).succeeded, 4);
  EXPECT_TRUE(Must(store().Reap(10)).sessions.empty());  // and it lives on
}

TEST_P(StoreTest, AReportOfAReapedSessionIsNotBelieved) {
  const JobId job = Sealed();
  const Lease lease = Lose(job, 4);
  const StoreState before = All();
  EXPECT_TRUE(Tell(lease, {.ok = Upto(4)}).lost);
  // Nor if it has joined anew: the lease is gone.
  EXPECT_EQ(Sync(Tells(Joined(), lease.id, {.ok = Upto(4)})).gone, std::vector<LeaseId>{lease.id});
  EXPECT_EQ(All().jobs, before.jobs);
}

TEST_P(StoreTest, ItemsLostOnceAreLeasedLastAndInGroups) {
  const JobId job = Sealed({.chunks = {40}});
  Lose(job, 36);
  EXPECT_EQ(Take(Joined(), job, 40).mine, In(40, {36, 37, 38, 39}));
  EXPECT_EQ(Take(Joined(), job, 40).mine, Bits::Range(40, 0, limits::kLostOnceGroup));
  EXPECT_EQ(Take(Joined(), job, 3).mine, In(40, {16, 17, 18}));
}

TEST_P(StoreTest, ItemsLostTwiceAreLeasedAlone) {
  const JobId job = Sealed({.chunks = {4}});
  Lose(job, 4);
  Lose(job, 4);
  EXPECT_EQ(ChunkOf(job).suspect, Bits::All(4));
  EXPECT_TRUE(ChunkOf(job).lost1.None());
  const SyncResult result = Sync(Asks(Joined(), job, 4));
  EXPECT_EQ(result.grants.at(0).lease.mine, In(4, {0}));
  EXPECT_EQ(result.grants.at(0).tries, (std::vector<ItemTry>{{job, 0, 0, 2}}));
}

TEST_P(StoreTest, TheFifthLossIsAFailure) {
  const JobId job = Sealed({.chunks = {1}, .retries = 50});
  Lease lease;
  for (int lost = 1; lost <= limits::kMaxLost; ++lost) {
    EXPECT_TRUE(ChunkOf(job).failed.None());
    lease = Lose(job, 1);
  }
  EXPECT_EQ(ChunkOf(job).failed, Bits::All(1));
  const Report report = Must(store().ListReports({job, 0})).at(0);
  EXPECT_EQ(report, (Report{lease.id,
                            kReaperSeq,
                            {job, 0},
                            0,
                            ReportKind::kLostLimit,
                            Bits::All(1),
                            Bits::All(1),
                            ""}));
  EXPECT_EQ(Sweep(job), JobState::kFinished);
}

TEST_P(StoreTest, AFailureBetweenLossesCountsByItself) {
  const JobId job = Sealed({.chunks = {1}, .retries = 5});
  Lose(job, 1);
  Tell(Take(Joined(), job, 1), {.failed = Items({0})});
  Lose(job, 1);
  Lose(job, 1);
  EXPECT_EQ(DumpOf(job).tries, (std::vector<ItemTry>{{job, 0, 1, 3}}));
}

TEST_P(StoreTest, WhatACancelledJobLosesIsParked) {
  const JobId job = Sealed({.chunks = {4}});
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 4);
  Must(store().CancelJob(job));
  SyncOrder last = From(session, {lease.id});
  last.life = kOver;
  Sync(last);
  Must(store().Reap(10));
  EXPECT_EQ(Sweep(job), JobState::kCancelled);
  EXPECT_EQ(CountsOf(job).cancelled, 4);
}

TEST_P(StoreTest, ReopeningFreesWhatHasFailed) {
  const JobId job = Sealed({.chunks = {4, 4}});
  RunAll(job, Items({1, 3}));
  EXPECT_EQ(Sweep(job), JobState::kFinished);
  EXPECT_EQ(Must(store().ReopenJob(job, {})), (Reopened{4, 1}));
  EXPECT_EQ(StateOf(job), JobState::kActive);
  EXPECT_EQ(CountsOf(job).waiting, 4);
  EXPECT_EQ(ChunkOf(job).round, 1);
  EXPECT_TRUE(DumpOf(job).tries.empty());
  RunAll(job);
  EXPECT_EQ(Sweep(job), JobState::kFinished);
  EXPECT_EQ(CountsOf(job).succeeded, 8);
  EXPECT_EQ(Must(store().ReopenJob(job, {})), (Reopened{0, 1}));
  EXPECT_EQ(StateOf(job), JobState::kFinished);
}

TEST_P(StoreTest, ReopeningSomeOfAChunkFreesThoseOfThemThatHaveFailed) {
  const JobId job = Sealed({.chunks = {4, 4}});
  RunAll(job, Items({1, 3}));
  EXPECT_EQ(Must(store().ReopenJob(job, {.failed_of = {{7, Items({1})}}})), (Reopened{0, 0}));
  EXPECT_EQ(Must(store().ReopenJob(job, {.failed_of = {{0, Items({0, 1})}, {1, Items({3})}}})),
            (Reopened{2, 1}));
  EXPECT_EQ(ChunkOf(job).failed, In(4, {3}));
  EXPECT_EQ(ChunkOf(job, 1).failed, In(4, {1}));
  EXPECT_EQ(CountsOf(job).waiting, 2);
}

TEST_P(StoreTest, ReopeningByItemFreesThoseThatAreDone) {
  const JobId job = Sealed({.chunks = {4, 4, 4}});
  const Lease lease = Take(Joined(), job, 4);
  Tell(lease, {.ok = Items({0, 1})});
  EXPECT_EQ(Must(store().ReopenJob(job, {{1, 2, 5, 400, -1}})), (Reopened{1, 1}));
  EXPECT_EQ(ChunkOf(job).done, In(4, {0}));
  EXPECT_EQ(ChunkOf(job, 1).round, 0);
  // The lease goes on; what it reports belongs to the round in which it was granted.
  Tell(lease, {.seq = 1, .ok = Items({1, 2})});
  EXPECT_EQ(ChunkOf(job).done, In(4, {0, 2}));
  const JobDump dump = DumpOf(job);
  EXPECT_EQ(dump.reports.at(0).ended, In(4, {0}));
  EXPECT_EQ(dump.reports.at(1).round, 0);
}

TEST_P(StoreTest, EveryRoundHasOneOutcomeAnItem) {
  const JobId job = Sealed({.chunks = {3}});
  for (int round = 0; round < 3; ++round) {
    RunAll(job, Items({1}));
    EXPECT_EQ(Sweep(job), JobState::kFinished);
    EXPECT_EQ(Must(store().ReopenJob(job, {})), (Reopened{1, round + 1}));
  }
  EXPECT_EQ(DumpOf(job).reports.size(), 3u);
}

TEST_P(StoreTest, ReopeningForgetsLosses) {
  const JobId job = Sealed({.chunks = {1}});
  for (int lost = 1; lost <= limits::kMaxLost; ++lost) Lose(job, 1);
  EXPECT_EQ(Must(store().ReopenJob(job, {})).items, 1);
  EXPECT_EQ(ChunkOf(job).suspect, In(1, {}));
  Lose(job, 1);
  EXPECT_EQ(ChunkOf(job).lost1, In(1, {0}));
}

TEST_P(StoreTest, ReopeningAPausedJobLeavesItPaused) {
  const JobId job = Sealed({.chunks = {2}});
  RunAll(job, Items({0}));
  Must(store().PauseJob(job, ""));
  EXPECT_EQ(Must(store().ReopenJob(job, {})).items, 1);
  EXPECT_EQ(StateOf(job), JobState::kPaused);
}

}  // namespace tidemill
