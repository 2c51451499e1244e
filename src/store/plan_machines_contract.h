// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "store/plan_contract.h"

// Machines from their order to their end.
namespace tidemill {

TEST_P(PlanStoreTest, MachinesAreOrderedOnceByTheirNumbers) {
  EXPECT_EQ(Order(0, 2), (std::vector<MachineKey>{Spot(0), Spot(1)}));
  EXPECT_TRUE(Order(0, 2).empty());
  EXPECT_EQ(Order(1, 2), std::vector<MachineKey>{Spot(2)});
  EXPECT_EQ(Spot().next_number, 3);
  const PlanMachine machine = MachineOf("spot-2");
  EXPECT_EQ(machine.state, kOrdered);
  EXPECT_TRUE(machine.ordered);
  EXPECT_EQ(machine.price, Money{3'600'000});
  // One that was not made is gone, costs nothing, and its number is not used again.
  Must(plan().DropOrder(Spot(2)));
  EXPECT_EQ(Read().machines.size(), 2u);
  EXPECT_TRUE(Order(2, 1).empty());
  EXPECT_EQ(Spot().never_joined, 0);
  EXPECT_TRUE(Must(plan().OrderMachines("default", "none", 0, 1, {})).empty());
}

TEST_P(PlanStoreTest, AMachineGoesFromOrderedToGone) {
  Order(0, 1);
  const TimePoint made = Now();
  Age(kSecond);
  See({{Spot(0), made, {}}});
  EXPECT_EQ(MachineOf("spot-0").state, kBooting);
  EXPECT_EQ(MachineOf("spot-0").billed_from, made);
  EXPECT_EQ(MachineOf("spot-0").put_down_until, made);
  Age(kSecond);
  const SessionId session = JoinAs("spot-0");
  const TimePoint joined = Now();
  See({{Spot(0), made, {}}});
  PlanMachine machine = MachineOf("spot-0");
  EXPECT_EQ(machine.state, kJoined);
  EXPECT_EQ(machine.joined, joined);
  EXPECT_EQ(machine.session, session);
  EXPECT_EQ(machine.has.millicpus, 4000);
  EXPECT_EQ(machine.idle_since, joined);
  Must(plan().DrainMachine(Spot(0)));
  EXPECT_EQ(MachineOf("spot-0").state, kDraining);
  EXPECT_TRUE(Sync(From(session)).draining);
  EXPECT_FALSE(Must(plan().EndMachine(Spot(0), kJoined)));
  EXPECT_TRUE(Must(plan().EndMachine(Spot(0), kDraining)));
  EXPECT_TRUE(MachineOf("spot-0").ending);
  Age(kSecond);
  const TimePoint ended = Now();
  Age(kSecond);
  See({{Spot(0), made, ended}});
  machine = MachineOf("spot-0");
  EXPECT_EQ(machine.state, kGone);
  EXPECT_EQ(machine.since, ended);
  // What is left of its session is no new machine.
  See();
  EXPECT_EQ(Read().machines.size(), 1u);
  Must(plan().PutDown({{Spot(0), made, ended, {}}}));
  EXPECT_TRUE(Read().machines.empty());
  EXPECT_EQ(Spot().never_joined, 0);
}

TEST_P(PlanStoreTest, AMachineIsFoundByWhatItsProviderCallsItWhileItIsThere) {
  Order(0, 3);
  const TimePoint now = Now();
  See({{Spot(0), now, {}, "i-a"}, {Spot(1), now, {}, ""}, {Spot(2), now, {}, "i-c"}});
  const auto found = [&](const std::string& pool, const std::string& id) {
    return Must(plan().FindMachineById("default", pool, id)).value_or("none");
  };
  EXPECT_EQ(found("spot", "i-a"), "spot-0");
  EXPECT_EQ(found("spot", "i-c"), "spot-2");
  EXPECT_EQ(found("spot", ""), "none");
  EXPECT_EQ(found("dear", "i-a"), "none");
  // Nothing is said of it, then something else.
  See({{Spot(0), now, {}, ""}, {Spot(1), now, {}, "i-b"}});
  EXPECT_EQ(found("spot", "i-a"), "spot-0");
  EXPECT_EQ(found("spot", "i-b"), "spot-1");
  See({{Spot(0), now, {}, "i-d"}, {Spot(1), now, now, "i-b"}});
  EXPECT_EQ(found("spot", "i-a"), "none");
  EXPECT_EQ(found("spot", "i-d"), "spot-0");
  EXPECT_EQ(found("spot", "i-b"), "none");
}

TEST_P(PlanStoreTest, MachinesThatNeverJoinAreCountedUntilOneDoes) {
  Order(0, 3);
  const TimePoint now = Now();
  See({{Spot(0), now, {}}});
  See({{Spot(0), now, now}, {Spot(1), now, now}});
  See({{Spot(0), now, now}, {Spot(1), now, now}});
  EXPECT_EQ(Spot().never_joined, 2);
  Must(plan().ForgiveNeverJoined("default", "spot"));
  EXPECT_EQ(Spot().never_joined, 0);
  Order(3, 1);
  See({{Spot(3), now, now}});
  EXPECT_EQ(Spot().never_joined, 1);
  JoinAs("spot-2");
  See();
  EXPECT_EQ(Spot().never_joined, 0);
}

TEST_P(PlanStoreTest, AMachineThatComesByItselfIsThereWhileItsAgentIs) {
  const SessionId session = JoinAs("node");
  const TimePoint joined = Now();
  Age(kSecond);
  See();
  See();
  ASSERT_EQ(Read().machines.size(), 1u);
  const PlanMachine machine = MachineOf("node");
  EXPECT_EQ(machine.state, kJoined);
  EXPECT_FALSE(machine.ordered);
  EXPECT_EQ(machine.billed_from, joined);
  EXPECT_EQ(machine.price, Money{3'600'000});
  Must(store().PutAside(session, "it fails"));
  See();
  EXPECT_EQ(MachineOf("node").state, kDraining);
  Leave(session);
  const TimePoint left = Now();
  Age(kSecond);
  See();
  EXPECT_EQ(MachineOf("node").state, kGone);
  EXPECT_EQ(MachineOf("node").since, left);
  // It may come again, as another.
  JoinAs("node");
  See();
  EXPECT_EQ(Read().machines.size(), 2u);
  EXPECT_EQ(MachineOf("spot/node").number, -2);
  EXPECT_EQ(MachineOf("spot/node").state, kJoined);
  EXPECT_EQ(MachineOf("spot/node#-1").state, kGone);
  EXPECT_EQ(Spot().never_joined, 0);
}

TEST_P(PlanStoreTest, AStrangerThatDrainedAndCameAgainIsAnother) {
  const SessionId first = JoinAs("node");
  JoinAs("other");
  See();
  EXPECT_EQ(MachineOf("node").number, -1);
  EXPECT_EQ(MachineOf("other").number, -2);
  Must(store().Drain(first, ""));
  See();
  EXPECT_EQ(MachineOf("node").state, kDraining);
  Age(kSecond);
  Leave(first);
  const SessionId second = JoinAs("node");
  See();
  EXPECT_EQ(MachineOf("spot/node").number, -3);
  EXPECT_EQ(MachineOf("spot/node").session, second);
  EXPECT_EQ(MachineOf("spot/node").state, kJoined);
  EXPECT_FALSE(Sync(From(second)).draining);
  EXPECT_EQ(MachineOf("spot/node#-1").state, kGone);
  // One that did not drain is the same.
  Age(kSecond);
  const SessionId third = JoinAs("node");
  See();
  EXPECT_EQ(MachineOf("spot/node").session, third);
  EXPECT_EQ(Read().machines.size(), 3u);
}

TEST_P(PlanStoreTest, OneThatJoinedAndEndedBetweenTwoLooksHasJoined) {
  Order(0, 1);
  JoinAs("spot-0");
  Age(kSecond);
  See({{Spot(0), Now() - kSecond, Now()}});
  EXPECT_EQ(MachineOf("spot-0").state, kGone);
  EXPECT_EQ(Spot().never_joined, 0);
  EXPECT_EQ(Read().machines.size(), 1u);
}

TEST_P(PlanStoreTest, AMachineWhoseAgentVanishesIsIdleSinceThen) {
  const JobId job = DefaultJob("a");
  Order(0, 1);
  const SessionId session = JoinAs("spot-0");
  See();
  const Lease lease = Take(session, job, 2);
  See();
  SyncOrder last = From(session, {lease.id});
  last.life = kOver;
  Sync(last);
  Must(store().Reap(10));
  const TimePoint ended = Now();
  Age(kSecond);
  See();
  EXPECT_EQ(MachineOf("spot-0").state, kJoined);
  EXPECT_EQ(MachineOf("spot-0").idle_since, ended);
  EXPECT_EQ(MachineOf("spot-0").session, SessionId{});
}

TEST_P(PlanStoreTest, NamesThatTwoPoolsHaveAreToldApart) {
  JoinAs("node", "spot");
  JoinAs("node", "default");
  See();
  EXPECT_EQ(MachineOf("spot/node").pool, "spot");
  EXPECT_EQ(MachineOf("default/node").pool, "default");
}

TEST_P(PlanStoreTest, AMachineIsIdleFromItsLastLeaseOn) {
  const JobId job = DefaultJob("a");
  Order(0, 1);
  const SessionId session = JoinAs("spot-0");
  See();
  const Lease lease = Take(session, job, 2);
  Age(kSecond);
  See();
  EXPECT_EQ(MachineOf("spot-0").leases.size(), 1u);
  EXPECT_EQ(MachineOf("spot-0").idle_since, TimePoint{});
  EXPECT_FALSE(Must(plan().EndMachine(Spot(0), kJoined)));
  Tell(lease, {.ok = Upto(2)});
  Age(kSecond);
  See();
  const TimePoint idle = Now();
  Age(kSecond);
  See();
  EXPECT_EQ(MachineOf("spot-0").idle_since, idle);
  // Its agent stops: it is there, but has no session.
  Leave(session);
  See();
  EXPECT_EQ(MachineOf("spot-0").session, SessionId{});
  EXPECT_EQ(MachineOf("spot-0").state, kJoined);
  EXPECT_EQ(MachineOf("spot-0").idle_since, idle);
}

TEST_P(PlanStoreTest, AMachineThatDrainsDrainsEverySessionOfIt) {
  Order(0, 1);
  Leave(JoinAs("other"));
  const SessionId first = JoinAs("spot-0");
  See();
  Must(plan().DrainMachine(Spot(0)));
  Leave(first);
  const SessionId second = JoinAs("spot-0");
  See();
  EXPECT_EQ(MachineOf("spot-0").session, second);
  EXPECT_TRUE(Sync(From(second)).draining);
}

// Its provider may be asked to end it at any moment: nothing may be leased on it any more.
TEST_P(PlanStoreTest, WhatJoinsOnAMachineThatIsAboutToBeEndedDrains) {
  Order(0, 2);
  const TimePoint now = Now();
  See({{Spot(0), now, {}}, {Spot(1), now, {}}});
  EXPECT_TRUE(Must(plan().EndMachine(Spot(0), kBooting)));
  EXPECT_TRUE(Sync(From(JoinAs("spot-0"))).draining);
  EXPECT_FALSE(Sync(From(JoinAs("spot-10"))).draining);
  const SessionId first = JoinAs("spot-1");
  EXPECT_FALSE(Sync(From(first)).draining);
  See();
  Must(plan().DrainMachine(Spot(1)));
  Leave(first);
  EXPECT_TRUE(Sync(From(JoinAs("spot-1"))).draining);
}

TEST_P(PlanStoreTest, OneThatHasJoinedSinceIsNotEnded) {
  Order(0, 2);
  const TimePoint now = Now();
  See({{Spot(0), now, {}}});
  JoinAs("spot-0");
  EXPECT_FALSE(Must(plan().EndMachine(Spot(0), kBooting)));
  EXPECT_TRUE(Must(plan().EndMachine(Spot(1), kOrdered)));
  EXPECT_FALSE(Must(plan().EndMachine(Spot(7), kOrdered)));
}

TEST_P(PlanStoreTest, APoolStaysWhileAMachineOfItIsNotGone) {
  Order(0, 1);
  EXPECT_EQ(CodeOfFailed(settings().DropPool("default", "spot")), Code::kConflict);
  Must(plan().DropOrder(Spot(0)));
  Must(settings().DropPool("default", "spot"));
}

TEST_P(PlanStoreTest, MachinesGoneForADayAreForgotten) {
  Order(0, 1);
  const TimePoint now = Now();
  See({{Spot(0), now - kSecond, now}});
  Age(std::chrono::hours(25));
  Must(store().DropStale(kLong));
  EXPECT_EQ(Read().machines.size(), 1u);  // not put down yet
  Must(plan().PutDown({{Spot(0), now - kSecond, now, {}}}));
  Must(store().DropStale(kLong));
  EXPECT_TRUE(Order(0, 1).empty());  // its number is not used again
}

}  // namespace tidemill
