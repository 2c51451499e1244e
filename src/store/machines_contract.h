// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "store/store_testing.h"

// What agents say of their machines, and of jobs that they cannot run.
namespace tidemill {

TEST_P(StoreTest, MachinesAreListedWithWhatTheyHold) {
  const JobId job = Sealed({.chunks = {8, 8}});
  const SessionId busy = Joined(), idle = Joined();
  Take(busy, job, 3);
  Take(busy, job, 2);
  std::vector<ListedMachine> machines = Must(store().ListMachines({}));
  ASSERT_EQ(machines.size(), 2u);
  EXPECT_LT(machines[0].session.id, machines[1].session.id);
  if (machines[0].session.id != busy) std::swap(machines[0], machines[1]);
  EXPECT_EQ(machines[0].session.machine, "m1");
  EXPECT_EQ(machines[0].session.pool, "pool");
  EXPECT_EQ(machines[0].leases, 2);
  EXPECT_EQ(machines[0].items, 5);
  EXPECT_GT(machines[0].joined_ms, 0);
  EXPECT_GE(machines[0].seen_ms, machines[0].joined_ms);
  EXPECT_EQ(machines[0].status, std::nullopt);
  EXPECT_EQ(machines[1].session.id, idle);
  EXPECT_EQ(machines[1].items, 0);
}

TEST_P(StoreTest, MachinesAreListedByPageAndTheDeadNotAtAll) {
  std::vector<SessionId> sessions{Joined(), Joined(), Joined(), Joined()};
  Must(store().Drain(sessions[1], ""));
  SyncOrder last = From(sessions[2]);
  last.leaving = true;
  Sync(last);
  sessions.erase(sessions.begin() + 2);
  std::sort(sessions.begin(), sessions.end());
  std::vector<SessionId> seen;
  SessionId after{};
  for (int pages = 0; pages < 5; ++pages) {
    const std::vector<ListedMachine> page =
        Must(store().ListMachines({.after = after, .limit = 2}));
    for (const ListedMachine& machine : page) seen.push_back(machine.session.id);
    if (page.empty()) break;
    after = page.back().session.id;
  }
  EXPECT_EQ(seen, sessions);
}

TEST_P(StoreTest, AStatusStaysUntilTheNextOneComes) {
  const SessionId session = Joined();
  const MachineStatus first{
      "docker", true, {{{7}, 3, 2500, std::int64_t{1} << 40}, {{8}, 0, 0, 0}}};
  SyncOrder order = From(session);
  order.status = first;
  Sync(order);
  const auto status = [&] { return Must(store().ListMachines({.limit = 1})).at(0).status; };
  EXPECT_EQ(status(), first);
  Sync(From(session));
  EXPECT_EQ(status(), first);
  order.status = MachineStatus{};
  Sync(order);
  EXPECT_EQ(status(), MachineStatus{});
}

TEST_P(StoreTest, OfTwoStatusesInOneBatchTheLaterOneCounts) {
  const SessionId session = Joined();
  SyncOrder first = From(session), second = From(session);
  first.status = MachineStatus{"a", false, {}};
  second.status = MachineStatus{"b", false, {}};
  Run({first, second, From(session)});
  EXPECT_EQ(Must(store().ListMachines({.limit = 1})).at(0).status->engine, "b");
}

TEST_P(StoreTest, ATroubleIsBelievedOfThoseWhoHoldALeaseOfTheJob) {
  const JobId job = Sealed(), other = Sealed();
  const SessionId holder = Joined(), stranger = Joined();
  const Lease lease = Take(holder, job, 2);
  SyncOrder lie = From(stranger);
  lie.troubles = {{job, "a lie"}};
  SyncOrder truth = From(holder, {lease.id});
  truth.troubles = {{other, "holds none of it"}, {job, "no such image"}, {job, "the same"}};
  const ExchangeResult result = Run({lie, truth});
  EXPECT_EQ(result.troubles, (std::vector<Trouble>{{job, "no such image"}}));
  EXPECT_TRUE(Run({lie}).troubles.empty());
}

TEST_P(StoreTest, ATroubleMayComeWithTheReturnOfItsLease) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 2);
  SyncOrder order = Tells(session, lease.id, {.back = Upto(2)});
  order.troubles = {{job, "no such image"}};
  EXPECT_EQ(Run({order}).troubles.size(), 1u);
  EXPECT_TRUE(LeasesOf(session).empty());
  EXPECT_TRUE(Run({order}).troubles.empty());  // a copy: nothing is held any more
}

TEST_P(StoreTest, OfTheDeadNoTroubleIsBelieved) {
  const JobId job = Sealed();
  const Lease lease = Lose(job, 1);
  SyncOrder order = From(lease.session, {lease.id});
  order.troubles = {{job, "late"}};
  EXPECT_TRUE(Run({order}).troubles.empty());
}

TEST_P(StoreTest, OnlyAPausedJobHasAReason) {
  const JobId job = Sealed({.chunks = {1}});
  EXPECT_EQ(Must(store().PauseJob(job, "no such image")).reason, "no such image");
  EXPECT_EQ(Must(store().PauseJob(job, "another")).reason, "no such image");
  EXPECT_EQ(Must(store().FindJob(job)).reason, "no such image");
  EXPECT_EQ(Must(store().ListJobs({})).at(0).reason, "no such image");
  EXPECT_EQ(Must(store().ResumeJob(job)).reason, "");
  EXPECT_EQ(Must(store().PauseJob(job, "")).reason, "");
  Must(store().ResumeJob(job));
  const Lease lease = Take(Joined(), job, 1);
  Must(store().PauseJob(job, "again"));
  Tell(lease, {.ok = Items({0})});
  EXPECT_EQ(Sweep(job), JobState::kFinished);
  EXPECT_EQ(Must(store().FindJob(job)).reason, "");
  const JobId cancelled = Sealed();
  Must(store().PauseJob(cancelled, "again"));
  EXPECT_EQ(Must(store().CancelJob(cancelled)).reason, "");
}

}  // namespace tidemill
