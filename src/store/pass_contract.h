// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/store_testing.h"

// What an agent's session is known by, and what its token is worth.
namespace tidemill {

inline NewSession MachineOf(SessionId id, const std::string& machine, const std::string& key) {
  NewSession session;
  session.id = id;
  session.machine = machine;
  session.project = "p";
  session.pool = "pool";
  session.machine_key = key;
  session.token = kToken;
  session.life = kLong;
  return session;
}

TEST_P(StoreTest, NothingIsTakenFromWhoeverHasNotTheToken) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 4);
  const StoreState before = All();
  for (const std::string token : {"", "another's", "token "}) {
    SyncOrder order = Tells(session, lease.id, {.ok = Upto(4)});
    order.token = token;
    order.leaving = true;
    order.status = MachineStatus{"liar", true, {}};
    order.troubles = {{job, "lie"}};
    const ExchangeResult result = Run({order});
    EXPECT_TRUE(result.syncs[0].lost);
    EXPECT_TRUE(result.troubles.empty());
  }
  EXPECT_EQ(All(), before);
  EXPECT_EQ(Must(store().ListMachines({})).at(0).status, std::nullopt);
  // Beside one who has it.
  SyncOrder liar = From(session);
  liar.token = "another's";
  const ExchangeResult both = Run({liar, Tells(session, lease.id, {.ok = Upto(4)})});
  EXPECT_TRUE(both.syncs[0].lost);
  EXPECT_FALSE(both.syncs[1].lost);
  EXPECT_EQ(CountsOf(job).succeeded, 4);
}

TEST_P(StoreTest, ATokenIsTurnedOverWhenHalfOfItsLifeIsOver) {
  const SessionId session = Joined(std::chrono::hours(10));
  SyncOrder order = From(session);
  order.life = std::chrono::hours(10);
  order.spare = "spare";
  EXPECT_EQ(Sync(order).token, "");
  Age(std::chrono::minutes(31));
  EXPECT_EQ(Sync(order).token, "spare");
  // The answer may have been lost: the old one is still good, and gets a spare again.
  order.spare = "second spare";
  EXPECT_EQ(Sync(order).token, "second spare");
  SyncOrder with_first = order;
  with_first.token = "spare";
  EXPECT_TRUE(Sync(with_first).lost);
  // Once the new one is used, the old one is nothing.
  SyncOrder with_new = order;
  with_new.token = "second spare";
  with_new.spare = "third";
  const SyncResult turned = Sync(with_new);
  EXPECT_FALSE(turned.lost);
  EXPECT_EQ(turned.token, "");
  EXPECT_TRUE(Sync(order).lost);
  EXPECT_FALSE(Sync(with_new).lost);
}

TEST_P(StoreTest, ATokenIsWorthItsLife) {
  const SessionId session = Joined(std::chrono::hours(10));
  SyncOrder order = From(session);
  order.life = std::chrono::hours(10);
  Age(std::chrono::minutes(61));
  EXPECT_TRUE(Sync(order).lost);
  EXPECT_EQ(CodeOfFailed(store().CheckPass({session, kToken}, kLong, {})), Code::kLost);
}

TEST_P(StoreTest, AJoinThatIsSaidAgainOffersItsTokenAndKeepsTheOldOne) {
  NewSession again = MachineOf({1, 2}, "m", "key");
  Must(store().Join(again));
  again.token = "new";
  Must(store().Join(again));
  EXPECT_FALSE(Sync(From({1, 2})).lost);
  SyncOrder order = From({1, 2});
  order.token = "new";
  EXPECT_FALSE(Sync(order).lost);
  EXPECT_TRUE(Sync(From({1, 2})).lost);
}

TEST_P(StoreTest, ASessionIsNotGivenToAnotherMachine) {
  Must(store().Join(MachineOf({1, 2}, "m", "key")));
  NewSession thief = MachineOf({1, 2}, "m", "another key");
  thief.token = "thief's";
  EXPECT_EQ(CodeOfFailed(store().Join(thief)), Code::kConflict);
  SyncOrder order = From({1, 2});
  order.token = "thief's";
  EXPECT_TRUE(Sync(order).lost);
  EXPECT_FALSE(Sync(From({1, 2})).lost);
  // Nor is it taken into another pool.
  NewSession elsewhere = MachineOf({1, 2}, "m", "key");
  elsewhere.project = "another";
  EXPECT_EQ(CodeOfFailed(store().Join(elsewhere)), Code::kConflict);
}

TEST_P(StoreTest, NobodyJoinsUnderTheNameOfAMachineThatLives) {
  Must(store().Join(MachineOf({1, 1}, "m", "key")));
  EXPECT_EQ(CodeOfFailed(store().Join(MachineOf({2, 2}, "m", "another key"))), Code::kConflict);
  // In another pool or project it is another machine.
  NewSession elsewhere = MachineOf({3, 3}, "m", "another key");
  elsewhere.pool = "another pool";
  Must(store().Join(elsewhere));
  elsewhere = MachineOf({4, 4}, "m", "another key");
  elsewhere.project = "another";
  Must(store().Join(elsewhere));
  EXPECT_FALSE(Sync(From({1, 1})).lost);
}

TEST_P(StoreTest, AMachineThatJoinsAnewEndsItsOldSession) {
  const JobId job = Sealed();
  Must(store().Join(MachineOf({1, 1}, "m", "key")));
  const Lease lease = Take({1, 1}, job, 4);
  Must(store().Join(MachineOf({2, 2}, "m", "key")));
  EXPECT_TRUE(Tell(lease, {.ok = Upto(4)}).lost);
  EXPECT_EQ(Must(store().Join(MachineOf({1, 1}, "m", "key"))).state, SessionState::kDead);
  EXPECT_TRUE(Sync(From({1, 1})).lost);
  EXPECT_EQ(Must(store().Reap(10)).sessions, std::vector<SessionId>({{1, 1}}));
  EXPECT_EQ(CountsOf(job).waiting, 8);
  EXPECT_FALSE(Sync(From({2, 2})).lost);
}

TEST_P(StoreTest, APassIsWorthItsLeases) {
  const JobId job = Sealed(), other = Sealed();
  const SessionId session = Joined();
  EXPECT_EQ(CodeOfFailed(store().CheckPass({session, kToken}, kLong, job)), Code::kForbidden);
  const Lease lease = Take(session, job, 8);
  EXPECT_EQ(Must(store().CheckPass({session, kToken}, kLong, job)).project, "p");
  EXPECT_EQ(CodeOfFailed(store().CheckPass({session, kToken}, kLong, other)), Code::kForbidden);
  EXPECT_EQ(CodeOfFailed(store().CheckPass({session, "x"}, kLong, job)), Code::kLost);
  EXPECT_EQ(CodeOfFailed(store().CheckPass({{9, 9}, kToken}, kLong, {})), Code::kLost);
  Tell(lease, {.ok = Upto(8)});
  EXPECT_EQ(CodeOfFailed(store().CheckPass({session, kToken}, kLong, job)), Code::kForbidden);
  EXPECT_EQ(Must(store().CheckPass({session, kToken}, kLong, {})).id, session);
}

TEST_P(StoreTest, AMachineGetsNothingOfAnotherProject) {
  const JobId job = Sealed();
  NewSession stranger = MachineOf({5, 5}, "stranger", "key");
  stranger.project = "another";
  Must(store().Join(stranger));
  const ExchangeResult result = Run({Asks({5, 5}, job, 4)});
  EXPECT_FALSE(result.syncs[0].lost);
  EXPECT_EQ(result.syncs[0].project, "another");
  EXPECT_TRUE(result.syncs[0].grants.empty());
  EXPECT_TRUE(result.dry.empty());
  EXPECT_EQ(Run({Asks(Joined(), job, 4)}).syncs[0].grants.size(), 1u);
}

TEST_P(StoreTest, TheJobsOfOneProjectDoNotHideThoseOfAnother) {
  Sealed();
  Sealed();
  NewJob other = JobOf("other");
  other.project = "q";
  const JobId id = Must(store().CreateJob(other)).id;
  Must(store().AddPart(id, PartOf(0, {4})));
  Must(store().SealJob(id, 1));
  const std::vector<RunnableJob> runnable = Must(store().ListRunnable(1));
  ASSERT_EQ(runnable.size(), 2u);
  EXPECT_EQ(runnable[1].id, id);
}

TEST_P(StoreTest, AnotherAddressIsTold) {
  const SessionId session = Joined();
  SyncOrder order = From(session);
  order.address = "10.0.0.1";
  EXPECT_EQ(Sync(order).before_from, "");
  order.address = "10.0.0.2";
  EXPECT_EQ(Sync(order).before_from, "10.0.0.1");
  EXPECT_EQ(Sync(order).before_from, "");
}

TEST_P(StoreTest, MachinesAndJobsAreListedByProject) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  NewSession stranger = MachineOf({5, 5}, "stranger", "key");
  stranger.project = "another";
  Must(store().Join(stranger));
  ASSERT_EQ(Must(store().ListMachines({.project = "p"})).size(), 1u);
  EXPECT_EQ(Must(store().ListMachines({.project = "p"}))[0].session.id, session);
  EXPECT_EQ(Must(store().ListMachines({})).size(), 2u);
  JobFilter filter;
  filter.project = "p";
  ASSERT_EQ(Must(store().ListJobs(filter)).size(), 1u);
  EXPECT_EQ(Must(store().ListJobs(filter))[0].id, job);
  filter.project = "another";
  EXPECT_TRUE(Must(store().ListJobs(filter)).empty());
  EXPECT_EQ(CodeOfFailed(store().Drain(session, "another")), Code::kLost);
  EXPECT_EQ(Must(store().ListRunnable(10)).at(0).project, "p");
}

}  // namespace tidemill
