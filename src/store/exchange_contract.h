// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "store/store_testing.h"

// Sessions, and how leases are granted and given again.
namespace tidemill {

TEST_P(StoreTest, JoiningAgainAnswersTheSession) {
  NewSession session;
  session.id = SessionId{1, 2};
  session.machine = "m";
  session.machine_key = "key";
  session.token = kToken;
  session.life = kLong;
  const Session joined = Must(store().Join(session));
  EXPECT_EQ(joined.state, SessionState::kAlive);
  EXPECT_EQ(Must(store().Join(session)), joined);
}

TEST_P(StoreTest, ASessionThatIsNotThereIsLost) {
  const JobId job = Sealed();
  const SyncResult result = Sync(Asks(SessionId{7, 7}, job, 4, {NewLeaseId()}));
  EXPECT_TRUE(result.lost);
  EXPECT_TRUE(result.grants.empty());
  EXPECT_TRUE(result.gone.empty());
  EXPECT_EQ(CodeOfFailed(store().Drain(SessionId{7, 7}, "")), Code::kLost);
}

TEST_P(StoreTest, GrantsTakeTheFirstFreeItems) {
  const JobId job = Sealed({.chunks = {4, 4}});
  const ExchangeResult result =
      Run({Asks(Joined(), job, 3), Asks(Joined(), job, 3), Asks(Joined(), job, 3)});
  EXPECT_EQ(result.syncs[0].grants.at(0).lease.mine, In(4, {0, 1, 2}));
  EXPECT_EQ(result.syncs[1].grants.at(0).lease.mine, In(4, {3}));  // a lease is of one chunk
  EXPECT_EQ(result.syncs[2].grants.at(0).lease.chunk, (ChunkKey{job, 1}));
  EXPECT_EQ(result.syncs[2].grants.at(0).first_item, 4);
  EXPECT_EQ(result.cursors.at(job), 1);
  EXPECT_TRUE(result.dry.empty());
}

TEST_P(StoreTest, AJobWithNothingFreeIsDry) {
  const JobId job = Sealed({.chunks = {2}});
  const ExchangeResult result = Run({Asks(Joined(), job, 2), Asks(Joined(), job, 2)});
  EXPECT_TRUE(result.syncs[1].grants.empty());
  EXPECT_EQ(result.dry, std::vector<JobId>{job});
}

TEST_P(StoreTest, AskingForNoItemsGetsNone) {
  const JobId job = Sealed();
  EXPECT_TRUE(Sync(Asks(Joined(), job, 0)).grants.empty());
  EXPECT_TRUE(Sync(Asks(Joined(), job, -5000)).grants.empty());
}

TEST_P(StoreTest, TheSearchBeginsAtTheCursorAndWraps) {
  const JobId job = Sealed({.chunks = {2, 2, 2}});
  Exchange exchange;
  exchange.cursors[job] = 1;
  for (int i = 0; i < 4; ++i) exchange.syncs.push_back(Asks(Joined(), job, 2));
  const ExchangeResult result = Must(store().Run(exchange));
  EXPECT_EQ(result.syncs[0].grants.at(0).lease.chunk.chunk, 1);
  EXPECT_EQ(result.syncs[1].grants.at(0).lease.chunk.chunk, 2);
  EXPECT_EQ(result.syncs[2].grants.at(0).lease.chunk.chunk, 0);
  EXPECT_TRUE(result.syncs[3].grants.empty());
  EXPECT_EQ(result.cursors.at(job), 0);
}

TEST_P(StoreTest, ACursorPastTheEndStartsAgain) {
  const JobId job = Sealed({.chunks = {2, 2, 2}});
  for (const int cursor : {4, 3, -1}) {
    Exchange exchange;
    exchange.cursors[job] = cursor;
    exchange.syncs.push_back(Asks(Joined(), job, 1));
    EXPECT_EQ(Must(store().Run(exchange)).cursors.at(job), cursor == -1 ? 1 : 0);
  }
}

TEST_P(StoreTest, WhatOneAgentGivesBackAnotherGetsAtOnce) {
  const JobId job = Sealed({.chunks = {4}});
  const Lease lease = Take(Joined(), job, 4);
  const ExchangeResult result =
      Run({Asks(Joined(), job, 4), Tells(lease.session, lease.id, {.back = Items({1, 2})})});
  EXPECT_EQ(result.syncs[0].grants.at(0).lease.mine, In(4, {1, 2}));
}

TEST_P(StoreTest, AsksAreTakenInTurnAndAtMostOneIsGranted) {
  const JobId empty = Sealed({.chunks = {1}});
  const JobId full = Sealed({.chunks = {4}});
  const JobId other = Sealed({.chunks = {4}});
  Take(Joined(), empty, 1);
  SyncOrder order = Asks(Joined(), empty, 2);
  order.asks.push_back({full, 2, NewLeaseId()});
  order.asks.push_back({other, 2, NewLeaseId()});
  const ExchangeResult result = Run({order});
  ASSERT_EQ(result.syncs[0].grants.size(), 1u);
  EXPECT_EQ(result.syncs[0].grants[0].lease.chunk.job, full);
  EXPECT_EQ(result.syncs[0].grants[0].lease.id, order.asks[1].lease);
  EXPECT_EQ(result.dry, std::vector<JobId>{empty});
}

TEST_P(StoreTest, LeasesThatTheAgentDoesNotKnowAreGivenAgain) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 4);
  Tell(lease, {.ok = Items({0})});
  const SyncResult again = Sync(Asks(session, job, 4));
  ASSERT_EQ(again.grants.size(), 1u);  // and nothing new beside it
  EXPECT_EQ(again.grants[0].lease.id, lease.id);
  EXPECT_EQ(again.grants[0].lease.mine, In(8, {1, 2, 3}));
  EXPECT_EQ(Sync(Asks(session, job, 4, {lease.id})).grants.at(0).lease.mine, In(8, {4, 5, 6, 7}));
}

TEST_P(StoreTest, AnUnknownLeaseIsGivenAgainWhateverElseTheAgentBelievesToHave) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 4);
  const LeaseId old = NewLeaseId();
  const SyncResult result = Sync(From(session, {old, old}));
  EXPECT_EQ(result.gone, (std::vector<LeaseId>{old, old}));
  ASSERT_EQ(result.grants.size(), 1u);
  EXPECT_EQ(result.grants[0].lease, lease);
}

TEST_P(StoreTest, RepeatingAnExchangeGrantsNothingMore) {
  const JobId job = Sealed();
  Exchange exchange;
  exchange.syncs = {Asks(Joined(), job, 2), Asks(Joined(), job, 2)};
  const ExchangeResult first = Must(store().Run(exchange));
  const StoreState before = All();
  const ExchangeResult again = Must(store().Run(exchange));
  EXPECT_EQ(again.syncs, first.syncs);
  EXPECT_EQ(All(), before);
}

TEST_P(StoreTest, TwoSyncsOfOneSessionInABatchCountBoth) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 2);
  const ExchangeResult result = Run({Tells(session, lease.id, {.seq = 0, .ok = Items({0})}),
                                     Tells(session, lease.id, {.seq = 1, .ok = Items({1})})});
  EXPECT_EQ(result.outcomes, 2);
  EXPECT_EQ(result.syncs[1].gone, std::vector<LeaseId>{lease.id});
}

TEST_P(StoreTest, ASessionHoldsALimitedNumberOfLeases) {
  const int most = static_cast<int>(limits::kLeasesPerSession);
  const JobId job = Sealed({.chunks = {2 * most}});
  const SessionId session = Joined();
  std::vector<LeaseId> known;
  for (int i = 0; i < most - 1; ++i) {
    known.push_back(Sync(Asks(session, job, 1, known)).grants.at(0).lease.id);
  }
  // Two syncs of one batch do not get past it either.
  const ExchangeResult last = Run({Asks(session, job, 1, known), Asks(session, job, 1, known)});
  EXPECT_EQ(last.syncs[0].grants.size() + last.syncs[1].grants.size(), 1u);
  known = LeasesOf(session);
  EXPECT_EQ(known.size(), limits::kLeasesPerSession);
  EXPECT_TRUE(Sync(Asks(session, job, 1, known)).grants.empty());
  SyncOrder order = Asks(session, job, 1, known);
  order.settlements.push_back(Settle(known[0], {.back = Upto(2 * most)}));
  EXPECT_EQ(Sync(order).grants.size(), 1u);
}

TEST_P(StoreTest, ADrainingSessionGetsNothingNewAndMayReport) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 2);
  Must(store().Drain(session, ""));
  Must(store().Drain(session, ""));
  const SyncResult result = Sync(Asks(session, job, 2));
  EXPECT_TRUE(result.draining);
  ASSERT_EQ(result.grants.size(), 1u);  // its own, given again
  EXPECT_EQ(result.grants[0].lease, lease);
  EXPECT_TRUE(Sync(Asks(session, job, 2, {lease.id})).grants.empty());
  Tell(lease, {.ok = Upto(2)});
  EXPECT_EQ(CountsOf(job).succeeded, 2);
}

TEST_P(StoreTest, LeavingGivesAllBackAndEndsTheSession) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease first = Take(session, job, 2);
  Take(session, job, 2);
  SyncOrder order = Tells(session, first.id, {.ok = Items({0})});
  order.leaving = true;
  order.asks.push_back({job, 4, NewLeaseId()});
  const ExchangeResult result = Run({order});
  EXPECT_EQ(result.freed, std::vector<JobId>{job});
  EXPECT_TRUE(result.syncs[0].grants.empty());
  EXPECT_EQ(ChunkOf(job).done, In(8, {0}));
  EXPECT_TRUE(ChunkOf(job).leased.None());
  EXPECT_TRUE(ChunkOf(job).lost1.None());
  EXPECT_TRUE(Sync(order).lost);
  EXPECT_EQ(CodeOfFailed(store().Drain(session, "")), Code::kLost);
  EXPECT_EQ(All().sessions.at(0).state, SessionState::kDead);
}

TEST_P(StoreTest, ASessionThatHasLeftGetsNothingInTheSameBatch) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  SyncOrder leaves = From(session);
  leaves.leaving = true;
  const ExchangeResult result = Run({leaves, Asks(session, job, 4)});
  EXPECT_TRUE(result.syncs[1].grants.empty());
  EXPECT_TRUE(DumpOf(job).leases.empty());
}

TEST_P(StoreTest, DeadSessionsAreDroppedInTheEnd) {
  const SessionId session = Joined();
  const SessionId alive = Joined();
  SyncOrder leaves = From(session);
  leaves.leaving = true;
  Run({leaves});
  EXPECT_EQ(Must(store().DropStale(kLong)), 0);
  EXPECT_EQ(Must(store().DropStale(kOver)), 1);
  ASSERT_EQ(All().sessions.size(), 1u);
  EXPECT_EQ(All().sessions[0].id, alive);
}

TEST_P(StoreTest, AnEmptyExchangeIsNoError) { EXPECT_EQ(Run({}), ExchangeResult()); }

}  // namespace tidemill
