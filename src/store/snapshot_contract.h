// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "store/plan_contract.h"

// What the leader decides from, and the money that it puts down.
namespace tidemill {

TEST_P(PlanStoreTest, AJobIsReadWithWhatItWishesAndWhatIsLeftOfIt) {
  const JobId first = DefaultJob("first");
  const JobId job = DefaultJob("a", {.priority = 4,
                                     .max_parallel = 9,
                                     .deadline = std::chrono::milliseconds(5000),
                                     .budget = Money{70},
                                     .labels = {{"zone", "a"}},
                                     .after = {first}});
  Must(store().RaiseMemory(job, 3 * kGiB));
  const TimePoint submitted = Now();
  Age(kSecond);
  const SessionId session = JoinAs("m");
  See();
  const Lease lease = Take(session, job, 3);
  SyncOrder order = Tells(session, lease.id, {.ok = Items({0}), .failed = Items({1})});
  order.status = MachineStatus{"e", true, {{.job = job, .waits_for = "pulling"}}};
  Sync(order);
  Must(plan().HearTimes("s1", {{job, 1, 2, 4, 0}}));
  Must(plan().HearTimes("s1", {{job, 2, 4, 10, 0}}));
  Must(plan().HearTimes("s2", {{job, 2, 8, 34, 0}, {{77}, 1, 1, 1, 0}}));
  const Snapshot snapshot = Read();
  ASSERT_EQ(snapshot.jobs.size(), 2u);
  const PlanJob& read = snapshot.jobs[1];
  EXPECT_EQ(read.id, job);
  EXPECT_EQ(read.name, "job-" + std::to_string(job.number));
  EXPECT_EQ(read.owner, "ann");
  EXPECT_EQ(read.queue, "default");
  EXPECT_EQ(read.priority, 4);
  EXPECT_EQ(read.submitted, submitted);
  EXPECT_EQ(read.served, submitted + kSecond);
  EXPECT_EQ(read.need.memory_bytes, 3 * kGiB);
  EXPECT_EQ(read.waiting, 5);
  EXPECT_EQ(read.leased, 1);
  EXPECT_EQ(read.resting, 1);
  EXPECT_GT(read.rest_until, submitted + kSecond);
  EXPECT_EQ(read.max_parallel, 9);
  EXPECT_EQ(read.deadline, submitted + std::chrono::seconds(5));
  EXPECT_EQ(read.budget, Money{70});
  EXPECT_EQ(read.labels.at("zone"), "a");
  EXPECT_EQ(read.paused, std::nullopt);
  EXPECT_EQ(read.after, std::vector<JobId>{first});
  ASSERT_TRUE(read.times.has_value());
  EXPECT_EQ(read.times->count, 4);
  EXPECT_EQ(read.times->mean, std::chrono::seconds(3));
  EXPECT_EQ(read.times->spread, Duration(1'414'214));
  EXPECT_FALSE(snapshot.jobs[0].times.has_value());
  ASSERT_EQ(snapshot.machines.size(), 1u);
  EXPECT_EQ(snapshot.machines[0].leases.at(0).slots, 1);
  EXPECT_EQ(snapshot.machines[0].leases.at(0).waits_for, "pulling");
  Age(std::chrono::hours(1));
  EXPECT_EQ(Read().jobs[1].resting, 0);
  EXPECT_EQ(Read().jobs[1].waiting, 6);
  Must(store().PauseJob(job, "why"));
  EXPECT_EQ(Read().jobs[1].paused, "why");
  Must(store().CancelJob(job));
  EXPECT_EQ(Read().jobs.size(), 1u);
}

TEST_P(PlanStoreTest, SlotsAreThoseThatFitOnTheMachine) {
  const JobId job = DefaultJob("a");  // a core an item
  const SessionId session = JoinAs("m");
  See();
  Take(session, job, 6);
  EXPECT_EQ(MachineOf("m").leases.at(0).slots, 4);
  EXPECT_EQ(Read().jobs[0].leased, 6);
}

TEST_P(PlanStoreTest, ItemsThatWereInterruptedOftenAreCountedApart) {
  const JobId job = DefaultJob("a", {}, 2);
  for (int i = 0; i < 2; ++i) {
    const SessionId session = JoinAs("m");
    const Lease lease = Take(session, job, 2);
    SyncOrder last = From(session, {lease.id});
    last.life = kOver;
    Sync(last);
    Must(store().Reap(10));
  }
  EXPECT_EQ(Read().jobs[0].waiting, 2);
  EXPECT_EQ(Read().jobs[0].worn_waiting, 2);
  Take(JoinAs("m"), job, 4);
  EXPECT_EQ(Read().jobs[0].worn_waiting, 1);
  EXPECT_EQ(Read().jobs[0].leased, 1);
  EXPECT_EQ(Read().jobs[0].worn_leased, 1);
}

TEST_P(PlanStoreTest, WhatLiesBehindTheSampleCountsAsFree) {
  NewJob job = JobOf("k");
  job.project = "default";
  const JobId id = Must(store().CreateJob(job)).id;
  Must(store().AddPart(id, RangeOf(0, 300 * limits::kItemsPerChunk)));
  Must(store().SealJob(id, 1));
  Take(JoinAs("m"), id, 100);
  EXPECT_EQ(Read().jobs[0].waiting, 300 * limits::kItemsPerChunk - 100);
}

TEST_P(PlanStoreTest, AfterEndsWhenTheLeaderSaysSo) {
  const JobId a = DefaultJob("a", {}, 1), b = DefaultJob("b", {}, 1), c = DefaultJob("c", {}, 1);
  const JobId job = DefaultJob("k", {.after = {c, a, b}});
  const auto after = [&] { return Read().jobs.back().after; };
  // Also one that is over: the leader looks how it ended.
  Must(store().CancelJob(a));
  Sweep(a);
  EXPECT_EQ(after(), (std::vector<JobId>{a, b, c}));
  const std::int64_t change = Must(store().ReadChange()).seq;
  Must(plan().EndAfter(job, a, ""));
  EXPECT_GT(Must(store().ReadChange()).seq, change);
  EXPECT_EQ(after(), (std::vector<JobId>{b, c}));
  Must(plan().EndAfter(job, b, ""));
  EXPECT_EQ(after(), std::vector<JobId>{c});
  EXPECT_EQ(StateOf(job), JobState::kActive);
  Must(plan().EndAfter(job, c, "c was cancelled"));
  EXPECT_TRUE(after().empty());
  EXPECT_EQ(Must(store().FindJob(job)).reason, "c was cancelled");
  // A copy that comes late does not pause it again, and the spec is as it was submitted.
  Must(store().ResumeJob(job));
  Must(plan().EndAfter(job, c, "c was cancelled"));
  EXPECT_EQ(StateOf(job), JobState::kActive);
  EXPECT_EQ(Must(store().FindJob(job)).spec.wishes.after.size(), 3u);
  Must(plan().EndAfter({77}, c, ""));
}

TEST_P(PlanStoreTest, WithoutADefaultQueueAllPoolsAreInOne) {
  Must(access().PutPool({"default", "zoo", {}}));
  DefaultJob("a");
  Queue queue;
  queue.name = "night";
  queue.pools = {"zoo"};
  Must(settings().PutQueue("default", queue));
  std::vector<Queue> queues = Read().queues;
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(queues[0].name, "night");
  EXPECT_EQ(queues[1].name, "default");
  EXPECT_EQ(queues[1].pools, (std::vector<std::string>{"default", "zoo", "spot"}));
  queue.name = "default";
  Must(settings().PutQueue("default", queue));
  queues = Read().queues;
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(queues[0].pools, std::vector<std::string>{"zoo"});
}

TEST_P(PlanStoreTest, TheProvidersWordIsKept) {
  ProviderWord word;
  word.no_capacity_until = Now() + kSecond;
  word.tried = 3;
  word.quota = 0;
  word.words = "InsufficientInstanceCapacity";
  Must(plan().SetProviderWord("default", "spot", word));
  EXPECT_EQ(Spot().provider_word.no_capacity_until, word.no_capacity_until);
  EXPECT_EQ(Spot().provider_word.tried, 3);
  EXPECT_EQ(Spot().provider_word.quota, 0);
  EXPECT_EQ(Spot().provider_word.words, word.words);
  Must(plan().SetProviderWord("default", "spot", {}));
  EXPECT_EQ(Spot().provider_word.no_capacity_until, std::nullopt);
  EXPECT_EQ(Spot().provider_word.quota, std::nullopt);
}

TEST_P(PlanStoreTest, TimeIsPutDownOnce) {
  const JobId job = DefaultJob("a");
  Order(0, 1);
  const TimePoint now = Now();
  const PutDownMachine down{Spot(0),
                            now,
                            now + kSecond,
                            {{Account::kJob, job, Duration(600), {60}},
                             {Account::kIdle, {}, Duration(300), {30}},
                             {Account::kBoot, {}, Duration(100), {10}}}};
  See({{Spot(0), now, {}}});
  Must(plan().PutDown({down}));
  Must(plan().PutDown({down}));
  EXPECT_EQ(MachineOf("spot-0").put_down_until, now + kSecond);
  EXPECT_EQ(Must(plan().ReadMoney({job, {77}})).at(0).entries,
            (std::vector<Entry>{{Account::kJob, job, Duration(600), {60}}}));
  EXPECT_TRUE(Must(plan().ReadMoney({job, {77}})).at(1).entries.empty());
  EXPECT_EQ(Must(plan().ReadOverhead("default")),
            (std::vector<Entry>{{Account::kIdle, {}, Duration(300), {30}},
                                {Account::kBoot, {}, Duration(100), {10}}}));
  EXPECT_TRUE(Must(plan().ReadOverhead("other")).empty());
  // What is lost is moved, never back, and never more than there is.
  Must(plan().SetLost(job, Duration(100), {10}));
  Must(plan().SetLost(job, Duration(50), {20}));
  EXPECT_EQ(Must(plan().ReadMoney({job})).at(0).entries,
            (std::vector<Entry>{{Account::kJob, job, Duration(500), {40}},
                                {Account::kLost, job, Duration(100), {20}}}));
  EXPECT_EQ(Read().jobs[0].spent, Money{60});
  Must(plan().SetLost(job, Duration(5000), {5000}));
  EXPECT_EQ(Must(plan().ReadMoney({job})).at(0).entries.at(0),
            (Entry{Account::kJob, job, Duration(0), {0}}));
  EXPECT_EQ(Read().jobs[0].spent, Money{60});
}

TEST_P(PlanStoreTest, AReservationIsReadWithItsMachine) {
  Order(0, 2);
  const std::int64_t epoch = *Must(plan().Lead("a", kSecond));
  Must(plan().WritePlans(epoch, {{"default", {{}, {{"spot-1", {5}}}}}}));
  EXPECT_EQ(MachineOf("spot-0").reserved_for, std::nullopt);
  EXPECT_EQ(MachineOf("spot-1").reserved_for, JobId{5});
}

}  // namespace tidemill
