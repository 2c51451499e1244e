// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/retry.h"
#include "store/retries.h"
#include "store/store_testing.h"

// Items that are tried again: when, with how much, by whom.
namespace tidemill {

inline constexpr std::chrono::minutes kMinute{1};

TEST_P(StoreTest, AFailureRestsUntilItsRetryIsDue) {
  const JobId job = Sealed({.chunks = {2}, .retries = 1, .retry_wait = kMinute});
  const Lease lease = Take(Joined(), job, 2);
  const ExchangeResult told =
      Run({Tells(lease.session, lease.id, {.ok = Items({0}), .failed = Items({1})})});
  EXPECT_TRUE(told.freed.empty());
  EXPECT_EQ(ChunkOf(job).resting, In(2, {1}));
  EXPECT_EQ(CountsOf(job), (Counts{.total = 2, .succeeded = 1, .waiting = 1}));
  EXPECT_TRUE(Must(store().ListRunnable(10)).empty());
  const SessionId other = Joined();
  const ExchangeResult early = Run({Asks(other, job, 2)});
  EXPECT_TRUE(early.syncs[0].grants.empty());
  EXPECT_EQ(early.dry, std::vector<JobId>{job});
  Age(kMinute);
  EXPECT_EQ(Must(store().ListRunnable(10)).at(0), (RunnableJob{job, "p", Resources{}, 0, 1}));
  const Lease again = Take(other, job, 2);
  EXPECT_EQ(again.mine, In(2, {1}));
  EXPECT_TRUE(again.tried);
  EXPECT_TRUE(ChunkOf(job).resting.None());
  EXPECT_EQ(DumpOf(job).leases.at(0), again);
}

TEST_P(StoreTest, TheLaterARetryTheLongerTheWait) {
  const JobId job = Sealed({.chunks = {1}, .retries = 5, .retry_wait = kMinute});
  for (int attempt = 1; attempt <= 3; ++attempt) {
    FailOne(job);
    const Duration wait = RetryWait(kMinute, attempt, 0);
    Age(wait - std::chrono::seconds(1));
    EXPECT_TRUE(Sync(Asks(Joined(), job, 1)).grants.empty());
    Age(std::chrono::seconds(1));
  }
  EXPECT_EQ(Take(Joined(), job, 1).mine, In(1, {0}));
}

TEST_P(StoreTest, RetriesGoBeforeWhatWasNeverTried) {
  const JobId job = Sealed({.chunks = {4, 4}, .retries = 1});
  FailOne(job);
  const SessionId session = Joined();
  EXPECT_EQ(Take(session, job, 4).mine, In(4, {0}));
  const Lease fresh = Take(session, job, 4);
  EXPECT_EQ(fresh.mine, In(4, {1, 2, 3}));
  EXPECT_FALSE(fresh.tried);
}

TEST_P(StoreTest, ARetryGoesToAnotherMachineForAWhile) {
  const JobId job = Sealed({.chunks = {2}, .retries = 1});
  const SessionId session = FailOne(job).session;
  EXPECT_EQ(Take(session, job, 2).mine, In(2, {1}));  // something else meanwhile
  const std::vector<LeaseId> held = LeasesOf(session);
  const ExchangeResult none = Run({Asks(session, job, 2, held)});
  EXPECT_TRUE(none.syncs[0].grants.empty());
  EXPECT_EQ(none.freed, std::vector<JobId>{job});  // not dry: another machine may have it
  EXPECT_TRUE(none.dry.empty());
  const Lease other = Take(Joined(), job, 2);
  EXPECT_EQ(other.mine, In(2, {0}));
  Tell(other, {.back = Items({0})});
  Age(kPreferOthers);
  EXPECT_EQ(Take(session, job, 2).mine, In(2, {0}));
}

TEST_P(StoreTest, TheOneThatIsDueLongestGoesFirst) {
  const JobId job = Sealed({.chunks = {1, 1, 1}, .retries = 9});
  const SessionId session = Joined();
  std::vector<Lease> leases;
  for (int i = 0; i < 3; ++i) leases.push_back(Take(session, job, 1));
  for (const int i : {2, 0, 1}) {
    Tell(leases[static_cast<std::size_t>(i)], {.failed = Items({0})});
    Age(kMinute);
  }
  for (const int i : {2, 0, 1}) EXPECT_EQ(Take(Joined(), job, 1).chunk.chunk, i);
}

TEST_P(StoreTest, RetriesOfOneChunkGoTogetherUpToALimit) {
  const JobId job = Sealed({.chunks = {40, 2}, .retries = 9});
  const SessionId session = Joined();
  Tell(Take(session, job, 40), {.failed = Upto(40)});
  Tell(Take(session, job, 2), {.failed = Upto(2)});
  EXPECT_EQ(Take(Joined(), job, 64).mine, Bits::Range(40, 0, kRetriesPerLease));
  EXPECT_EQ(Take(Joined(), job, 3).mine, Bits::Range(40, kRetriesPerLease, 3));
}

TEST_P(StoreTest, ManyAgentsShareWhatIsDueAndWhatIsFree) {
  const JobId job = Sealed({.chunks = {4, 4}, .retries = 9});
  Tell(Take(Joined(), job, 3), {.failed = Upto(3)});
  const ExchangeResult result = Run({Asks(Joined(), job, 2), Asks(Joined(), job, 2),
                                     Asks(Joined(), job, 2), Asks(Joined(), job, 9)});
  const auto lease = [&](std::size_t i) { return result.syncs[i].grants.at(0).lease; };
  EXPECT_EQ(lease(0).mine, In(4, {0, 1}));
  EXPECT_EQ(lease(1).mine, In(4, {2}));
  EXPECT_EQ(lease(2).mine, In(4, {3}));
  EXPECT_FALSE(lease(2).tried);
  EXPECT_EQ(lease(3).chunk.chunk, 1);
  EXPECT_TRUE(result.dry.empty());
}

TEST_P(StoreTest, WhatRestsDueNowIsGrantedInTheSameExchange) {
  const JobId job = Sealed({.chunks = {2}, .retries = 1});
  const Lease lease = Take(Joined(), job, 2);
  const ExchangeResult result =
      Run({Asks(Joined(), job, 4), Tells(lease.session, lease.id, {.failed = Items({1})})});
  EXPECT_EQ(result.freed, std::vector<JobId>{job});
  const Grant grant = result.syncs[0].grants.at(0);
  EXPECT_EQ(grant.lease.mine, In(2, {1}));
  EXPECT_EQ(grant.tries, (std::vector<ItemTry>{{job, 1, 1, 0}}));
}

TEST_P(StoreTest, AFinalFailureIsNotTriedAgain) {
  const JobId job = Sealed({.chunks = {2}, .retries = 9});
  const Lease lease = Take(Joined(), job, 2);
  EXPECT_EQ(
      Run({Tells(lease.session, lease.id, {.failed = Upto(2), .final = Items({1})})}).outcomes, 1);
  EXPECT_EQ(ChunkOf(job).failed, In(2, {1}));
  EXPECT_EQ(ChunkOf(job).resting, In(2, {0}));
}

TEST_P(StoreTest, OutOfMemoryIsTriedAgainWithMoreAndCostsNoAttempt) {
  const JobId job = Sealed({.chunks = {2}, .memory = kGiB, .memory_max = 3 * kGiB});
  const SessionId session = Joined();
  SyncOrder order = Asks(session, job, 2);
  order.asks[0].memory_bytes = kGiB;
  const Lease first = Sync(order).grants.at(0).lease;
  EXPECT_EQ(first.memory_bytes, kGiB);
  const ExchangeResult told =
      Run({Tells(session, first.id, {.ok = Items({0}), .memory = Items({1})})});
  EXPECT_EQ(told.outcomes, 1);
  EXPECT_EQ(told.freed, std::vector<JobId>{job});
  EXPECT_EQ(DumpOf(job).reports.at(0).settled, In(2, {0, 1}));
  EXPECT_EQ(DumpOf(job).reports.at(0).ended, In(2, {0}));
  // At once, and on the same machine if it has the room.
  order = Asks(session, job, 2);
  order.asks[0].room_bytes = 2 * kGiB - 1;
  const ExchangeResult none = Run({order});
  EXPECT_TRUE(none.syncs[0].grants.empty());
  EXPECT_EQ(none.dry, std::vector<JobId>{job});
  order.asks[0].room_bytes = 2 * kGiB;
  const Grant second = Sync(order).grants.at(0);
  EXPECT_EQ(second.lease.memory_bytes, 2 * kGiB);
  EXPECT_EQ(second.tries, (std::vector<ItemTry>{{job, 1, 0, 0, 2 * kGiB, 1}}));
  Tell(second.lease, {.memory = Items({1})});
  const Lease third = Take(session, job, 2);
  EXPECT_EQ(third.memory_bytes, 3 * kGiB);
  Tell(third, {.memory = Items({1})});
  EXPECT_EQ(ChunkOf(job).failed, In(2, {1}));
  EXPECT_EQ(DumpOf(job).tries, (std::vector<ItemTry>{{job, 1, 0, 0, 3 * kGiB, 3}}));
}

TEST_P(StoreTest, ARetryGetsWhatTheJobGivesIfThatIsMore) {
  const JobId job = Sealed({.chunks = {1}, .memory = kGiB, .memory_max = 8 * kGiB});
  const Lease lease = Take(Joined(), job, 1);
  EXPECT_EQ(lease.memory_bytes, 0);  // nobody has said: the spec's
  Tell(lease, {.memory = Items({0})});
  SyncOrder order = Asks(Joined(), job, 1);
  order.asks[0].memory_bytes = 4 * kGiB;
  EXPECT_EQ(Sync(order).grants.at(0).lease.memory_bytes, 4 * kGiB);
}

TEST_P(StoreTest, ALeaseOfRetriesIsOfOneNeed) {
  const JobId job = Sealed({.chunks = {3}, .retries = 9, .memory = kGiB, .memory_max = 8 * kGiB});
  Tell(Take(Joined(), job, 3), {.failed = Items({1}), .memory = Items({0, 2})});
  EXPECT_EQ(Take(Joined(), job, 3).mine, In(3, {0, 2}));
  EXPECT_EQ(Take(Joined(), job, 3).mine, In(3, {1}));
}

TEST_P(StoreTest, WithoutALimitThereIsNoMoreToGive) {
  const JobId job = Sealed({.chunks = {1}, .retries = 9, .memory_max = kGiB});
  Tell(Take(Joined(), job, 1), {.memory = Items({0})});
  EXPECT_EQ(ChunkOf(job).failed, In(1, {0}));
}

TEST_P(StoreTest, WhatComesBackOfARetryRestsAgainAndIsDue) {
  const JobId job = Sealed({.chunks = {2}, .retries = 9, .retry_wait = kMinute});
  Tell(Take(Joined(), job, 2), {.failed = Upto(2)});
  Age(kMinute);
  const Lease lease = Take(Joined(), job, 2);
  const ExchangeResult told =
      Run({Tells(lease.session, lease.id, {.back = Upto(2), .begun = Items({1})})});
  EXPECT_EQ(told.freed, std::vector<JobId>{job});
  EXPECT_EQ(told.outcomes, 0);
  EXPECT_EQ(ChunkOf(job).resting, Bits::All(2));
  const Report report = DumpOf(job).reports.at(1);
  EXPECT_EQ(report.settled | DumpOf(job).reports.at(0).settled, Bits::All(2));
  const SyncResult again = Sync(Asks(Joined(), job, 2));
  EXPECT_EQ(again.grants.at(0).lease.mine, Bits::All(2));
  EXPECT_EQ(again.grants.at(0).tries, (std::vector<ItemTry>{{job, 0, 1, 0}, {job, 1, 1, 0}}));
}

TEST_P(StoreTest, WhatHadBegunAndCameBackHasItsReport) {
  const JobId job = Sealed({.chunks = {3}});
  const Lease lease = Take(Joined(), job, 3);
  Tell(lease, {.back = Items({0, 1}), .begun = Items({1})});
  const JobDump dump = DumpOf(job);
  ASSERT_EQ(dump.reports.size(), 1u);
  EXPECT_EQ(dump.reports[0].settled, In(3, {1}));
  EXPECT_TRUE(dump.reports[0].ended.None());
  EXPECT_EQ(ChunkOf(job).Free(), In(3, {0, 1}));
  EXPECT_TRUE(dump.tries.empty());
}

TEST_P(StoreTest, ALostRetryRestsAndIsDue) {
  const JobId job = Sealed({.chunks = {3}, .retries = 9, .retry_wait = kMinute});
  Tell(Take(Joined(), job, 2), {.failed = Upto(2)});
  Age(kMinute);
  Lose(job, 2);
  EXPECT_EQ(ChunkOf(job).resting, In(3, {0, 1}));
  EXPECT_EQ(ChunkOf(job).lost1, In(3, {0, 1}));
  Lose(job, 2);
  EXPECT_EQ(ChunkOf(job).suspect, In(3, {0, 1}));
  // One by one from now on.
  const Lease first = Take(Joined(), job, 2), second = Take(Joined(), job, 2);
  EXPECT_EQ(first.mine.Count() + second.mine.Count(), 2);
  EXPECT_TRUE(first.tried && second.tried);
  EXPECT_EQ(DumpOf(job).tries, (std::vector<ItemTry>{{job, 0, 1, 2}, {job, 1, 1, 2}}));
}

TEST_P(StoreTest, ARetryThatIsLostTooOftenIsAFailure) {
  const JobId job = Sealed({.chunks = {1}, .retries = 9});
  FailOne(job);
  for (int lost = 1; lost <= limits::kMaxLost; ++lost) {
    EXPECT_EQ(ChunkOf(job).resting, Bits::All(1));
    Lose(job, 1);
  }
  EXPECT_EQ(ChunkOf(job).failed, Bits::All(1));
  EXPECT_EQ(Sweep(job), JobState::kFinished);
}

TEST_P(StoreTest, ASessionThatLeavesGivesItsRetriesBackToRest) {
  const JobId job = Sealed({.chunks = {2}, .retries = 9});
  FailOne(job);
  SyncOrder leaves = From(Take(Joined(), job, 1).session);
  leaves.leaving = true;
  EXPECT_EQ(Run({leaves}).freed, std::vector<JobId>{job});
  EXPECT_EQ(ChunkOf(job).resting, In(2, {0}));
  EXPECT_EQ(ChunkOf(job).Free(), In(2, {1}));
}

TEST_P(StoreTest, CancellingParksWhatRests) {
  const JobId job = Sealed({.chunks = {1, 1, 2}, .retries = 9, .retry_wait = kMinute});
  FailOne(job);
  FailOne(job);
  const Lease lease = Take(Joined(), job, 1);
  Must(store().CancelJob(job));
  Tell(lease, {.failed = Items({0})});
  EXPECT_EQ(Sweep(job), JobState::kCancelled);
  EXPECT_EQ(CountsOf(job).cancelled, 4);
  EXPECT_TRUE(DumpOf(job).rests.empty());
}

TEST_P(StoreTest, CancellingIsCarriedOutWhileRetriesAreOut) {
  const JobId job = Sealed({.chunks = {2}, .retries = 9});
  FailOne(job);
  const Lease lease = Take(Joined(), job, 1);
  EXPECT_TRUE(lease.tried);
  Must(store().CancelJob(job));
  EXPECT_EQ(Must(store().SweepJob(job)).revoked, std::vector<SessionId>{lease.session});
  EXPECT_EQ(Sweep(job), JobState::kCancelled);
  EXPECT_EQ(CountsOf(job).cancelled, 2);
}

TEST_P(StoreTest, ReopeningForgetsTriesButNotOfWhatRests) {
  const JobId job = Sealed({.chunks = {3}, .retries = 9, .retry_wait = kMinute});
  Tell(Take(Joined(), job, 3), {.failed = Upto(2), .back = Items({2}), .final = Items({0})});
  EXPECT_EQ(Must(store().ReopenJob(job, {{0, 1, 2}})), (Reopened{1, 1}));
  EXPECT_EQ(ChunkOf(job).resting, In(3, {1}));
  EXPECT_EQ(ChunkOf(job).Free(), In(3, {0, 2}));
  EXPECT_EQ(DumpOf(job).tries, (std::vector<ItemTry>{{job, 1, 1, 0}}));
}

TEST_P(StoreTest, WaitingChunksAreThoseWithSomethingThatRestsToo) {
  const JobId job = Sealed({.chunks = {1}, .retries = 1, .retry_wait = kMinute});
  FailOne(job);
  ChunkFilter filter;
  filter.state = ItemState::kWaiting;
  EXPECT_EQ(Must(store().ListChunks(job, filter)).size(), 1u);
}

}  // namespace tidemill
