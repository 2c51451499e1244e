// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "store/rules.h"
#include "store/store_testing.h"

// Lists, counts, roll-ups, news.
namespace tidemill {

TEST_P(StoreTest, CountsAddUpInEveryState) {
  const JobId job = Sealed({.chunks = {5, 5}});
  Tell(Take(Joined(), job, 4), {.ok = Items({0}), .failed = Items({1}), .back = Items({2})});
  const Counts counts = CountsOf(job);
  EXPECT_EQ(counts, (Counts{.total = 10, .succeeded = 1, .failed = 1, .running = 1, .waiting = 7}));
  Must(store().CancelJob(job));
  Sweep(job);
  EXPECT_EQ(CountsOf(job), (Counts{.total = 10, .succeeded = 1, .failed = 1, .cancelled = 8}));
}

TEST_P(StoreTest, ManyJobsAreCountedAtOnce) {
  const JobId a = Sealed({.chunks = {5}}), b = Draft({.chunks = {2, 2}});
  Tell(Take(Joined(), a, 2), {.ok = Items({0})});
  const std::vector<JobCounts> counts = Must(store().CountJobs({b, {a.number + 100}, a}));
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].job.id, b);
  EXPECT_EQ(counts[0].counts, (Counts{.total = 4, .waiting = 4}));
  EXPECT_EQ(counts[1].job, Must(store().FindJob(a)));
  EXPECT_EQ(counts[1].counts, CountsOf(a));
  EXPECT_TRUE(Must(store().CountJobs({})).empty());
}

TEST_P(StoreTest, JobsAreListedNewestFirstAndByPage) {
  const JobId a = Sealed(), b = Draft(), c = Sealed();
  std::vector<JobId> seen;
  for (const Job& job : Must(store().ListJobs({}))) seen.push_back(job.id);
  EXPECT_EQ(seen, (std::vector<JobId>{c, b, a}));
  JobFilter page;
  page.before = c;
  page.limit = 1;
  EXPECT_EQ(Must(store().ListJobs(page)).at(0).id, b);
  JobFilter active;
  active.state = JobState::kActive;
  active.before = c;
  const std::vector<Job> older = Must(store().ListJobs(active));
  ASSERT_EQ(older.size(), 1u);
  EXPECT_EQ(older[0].id, a);
}

TEST_P(StoreTest, RunnableJobsAreActiveAndHaveFreeItems) {
  const JobId full = Sealed({.chunks = {3, 4}});
  const JobId empty = Sealed({.chunks = {1}});
  const JobId paused = Sealed();
  Draft();
  Must(store().PauseJob(paused, ""));
  Take(Joined(), empty, 1);
  Take(Joined(), full, 2);
  const std::vector<RunnableJob> runnable = Must(store().ListRunnable(10));
  ASSERT_EQ(runnable.size(), 1u);
  EXPECT_EQ(runnable[0], (RunnableJob{full, "p", Resources{}, 5}));
  EXPECT_TRUE(Must(store().ListRunnable(0)).empty());
}

TEST_P(StoreTest, FreeItemsAreCountedInTheFirstChunksThatHaveSome) {
  const JobId job = Sealed({.chunks = std::vector<int>(kFreeSampleChunks + 3, 2)});
  Take(Joined(), job, 2);
  EXPECT_EQ(Must(store().ListRunnable(10)).at(0),
            (RunnableJob{job, "p", Resources{}, 2 * kFreeSampleChunks}));
}

TEST_P(StoreTest, ChunksAreListedByState) {
  const JobId job = Sealed({.chunks = {2, 2, 2, 2}});
  const auto numbers = [&](std::optional<ItemState> state, int from = 0, int limit = 10) {
    ChunkFilter filter;
    filter.state = state;
    filter.from = from;
    filter.limit = limit;
    std::vector<int> found;
    for (const Chunk& chunk : Must(store().ListChunks(job, filter))) {
      found.push_back(chunk.key.chunk);
    }
    return found;
  };
  Tell(Take(Joined(), job, 2), {.ok = Items({0}), .failed = Items({1})});
  Take(Joined(), job, 1);
  using Found = std::vector<int>;
  EXPECT_EQ(numbers({}), (Found{0, 1, 2, 3}));
  EXPECT_EQ(numbers({}, 1, 2), (Found{1, 2}));
  EXPECT_EQ(numbers(ItemState::kSucceeded), Found{0});
  EXPECT_EQ(numbers(ItemState::kFailed), Found{0});
  EXPECT_EQ(numbers(ItemState::kRunning), Found{1});
  EXPECT_EQ(numbers(ItemState::kWaiting), (Found{1, 2, 3}));
  EXPECT_EQ(numbers(ItemState::kWaiting, 2), (Found{2, 3}));
  EXPECT_EQ(numbers(ItemState::kCancelled), Found{});
  Must(store().CancelJob(job));
  Sweep(job);
  EXPECT_EQ(numbers(ItemState::kCancelled), (Found{1, 2, 3}));
}

TEST_P(StoreTest, ItemsComeBackAsTheyWereGiven) {
  const JobId job = Draft({.chunks = {3, 4}});
  EXPECT_EQ(Must(store().FindItems({job, 1})), (ChunkItems{3, 4, "items"}));
  EXPECT_EQ(CodeOfFailed(store().FindItems({job, 2})), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().FindItems({job, -1})), Code::kNotFound);
}

TEST_P(StoreTest, BodiesMayHoldAnyByte) {
  const std::string bytes("\0\xff\\x'\n", 6);
  const JobId job = Must(store().CreateJob(JobOf("k"))).id;
  NewPart part = PartOf(0, {2}, bytes);
  part.chunks[0].body = bytes;
  Must(store().AddPart(job, part));
  Must(store().AddPart(job, part));
  Must(store().SealJob(job, 1));
  EXPECT_EQ(Must(store().FindItems({job, 0})).body, bytes);
  Tell(Take(Joined(), job, 2), {.ok = Upto(2), .body = bytes});
  EXPECT_EQ(Must(store().ListReports({job, 0})).at(0).body, bytes);
}

TEST_P(StoreTest, RollingUpReplacesTheReportsOfDoneChunks) {
  const JobId job = Sealed({.chunks = {2, 2}});
  const SessionId session = Joined();
  Tell(Take(session, job, 1), {.ok = Items({0}), .body = "a"});
  Tell(Take(session, job, 1), {.failed = Items({1}), .body = "b"});
  Tell(Take(session, job, 1), {.ok = Items({0}), .body = "c"});
  EXPECT_EQ(Must(store().RollUp(10, JoinBodies)), (RolledUp{1, 2}));
  EXPECT_EQ(Must(store().RollUp(10, JoinBodies)), (RolledUp{0, 0}));
  EXPECT_TRUE(Must(store().ListReports({job, 0})).empty());
  EXPECT_EQ(Must(store().ListReports({job, 1})).size(), 1u);
  const std::vector<ChunkStat> stats = Must(store().ListStats(job, 0, 10));
  ASSERT_EQ(stats.size(), 1u);
  EXPECT_EQ(stats[0].ended, Bits::All(2));
  EXPECT_EQ(stats[0].summary, "2");
  EXPECT_EQ(stats[0].block.size(), 4u);
  EXPECT_TRUE(Must(store().ListStats(job, 1, 10)).empty());
}

TEST_P(StoreTest, WhatACancelledJobHasDoneIsRolledUpToo) {
  const JobId job = Sealed({.chunks = {3, 3}});
  Tell(Take(Joined(), job, 2), {.ok = Items({0}), .body = "a"});
  Must(store().CancelJob(job));
  EXPECT_EQ(Must(store().RollUp(10, JoinBodies)).chunks, 0);  // not before it is carried out
  EXPECT_EQ(Sweep(job), JobState::kCancelled);
  EXPECT_EQ(Must(store().RollUp(10, JoinBodies)), (RolledUp{1, 1}));
  EXPECT_EQ(Must(store().RollUp(10, JoinBodies)).chunks, 0);
  EXPECT_TRUE(Must(store().ListReports({job, 0})).empty());
  const std::vector<ChunkStat> stats = Must(store().ListStats(job, 0, 10));
  ASSERT_EQ(stats.size(), 1u);
  EXPECT_EQ(stats[0].ended, In(3, {0}));
  EXPECT_EQ(stats[0].block, "a;");
}

TEST_P(StoreTest, RollingUpIsBounded) {
  const JobId job = Sealed({.chunks = {1, 1, 1}});
  RunAll(job);
  EXPECT_EQ(Must(store().RollUp(2, JoinBodies)).chunks, 2);
  EXPECT_EQ(Must(store().ListStats(job, 0, 1)).size(), 1u);
  EXPECT_EQ(Must(store().RollUp(2, JoinBodies)).chunks, 1);
}

TEST_P(StoreTest, AChunkThatIsReopenedIsRolledUpAgain) {
  const JobId job = Sealed({.chunks = {3}});
  RunAll(job, Items({1}));
  Must(store().RollUp(10, JoinBodies));
  EXPECT_EQ(Must(store().ReopenJob(job, {})), (Reopened{1, 1}));
  EXPECT_EQ(Must(store().ListStats(job, 0, 10)).at(0).ended, In(3, {0, 2}));
  EXPECT_EQ(Must(store().RollUp(10, JoinBodies)).chunks, 0);
  RunAll(job);
  EXPECT_EQ(Must(store().RollUp(10, JoinBodies)), (RolledUp{1, 1}));
  const std::vector<ChunkStat> stats = Must(store().ListStats(job, 0, 10));
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[1].round, 1);
  EXPECT_EQ(stats[1].ended, In(3, {1}));
  EXPECT_EQ(Sweep(job), JobState::kFinished);
}

TEST_P(StoreTest, AChunksHistoryIsItsReportsAndWhatWasRolledUp) {
  const JobId job = Sealed({.chunks = {2, 3}});
  const SessionId session = Joined();
  Tell(Take(session, job, 2), {.ok = Items({0}), .failed = Items({1}), .body = "a"});
  Must(store().RollUp(10, JoinBodies));
  Must(store().ReopenJob(job, {}));
  Tell(Take(session, job, 1), {.failed = Items({1}), .body = "b"});
  Tell(Take(session, job, 1), {.ok = Items({0}), .body = "c"});
  const ChunkHistory first = Must(store().FindHistory({job, 0}));
  EXPECT_EQ(first.first_item, 0);
  ASSERT_EQ(first.stats.size(), 1u);
  EXPECT_EQ(first.stats[0].block, "a;");
  ASSERT_EQ(first.reports.size(), 1u);
  EXPECT_EQ(first.reports[0].body, "b");
  EXPECT_EQ(first.reports[0].round, 1);
  const ChunkHistory second = Must(store().FindHistory({job, 1}));
  EXPECT_EQ(second.first_item, 2);
  EXPECT_TRUE(second.stats.empty());
  EXPECT_EQ(second.reports, Must(store().ListReports({job, 1})));
  EXPECT_EQ(CodeOfFailed(store().FindHistory({job, 2})), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().FindHistory({{job.number + 100}, 0})), Code::kNotFound);
}

TEST_P(StoreTest, OpenReportsAreThoseOfTheNewestChunks) {
  const JobId job = Sealed({.chunks = {2, 2, 2}});
  const SessionId session = Joined();
  Tell(Take(session, job, 2), {.ok = Upto(2), .body = "rolled"});
  Must(store().RollUp(10, JoinBodies));
  Tell(Take(session, job, 1), {.ok = Items({0}), .body = "b"});
  Tell(Take(session, job, 1), {.failed = Items({1}), .body = "b2"});
  Tell(Take(session, job, 1), {.ok = Items({0}), .body = "c"});
  const OpenReports all = Must(store().ListOpenReports(job, 3));
  ASSERT_EQ(all.reports.size(), 3u);
  EXPECT_FALSE(all.more);
  EXPECT_EQ(all.reports[0].report.body, "c");
  EXPECT_EQ(all.reports[0].first_item, 4);
  EXPECT_EQ(all.reports[2].first_item, 2);
  EXPECT_GT(all.reports[1].report.lease, all.reports[2].report.lease);
  const OpenReports some = Must(store().ListOpenReports(job, 2));
  EXPECT_EQ(some.reports.size(), 2u);
  EXPECT_TRUE(some.more);
  EXPECT_EQ(Must(store().ListOpenReports({job.number + 100}, 2)), OpenReports{});
}

TEST_P(StoreTest, OpenReportsAreBoundedInBytesToo) {
  const std::size_t large = kReportFrameBytes + limits::kItemsPerChunk * kReportItemBytes;
  const int fit = static_cast<int>(kOpenReportBytes / static_cast<std::int64_t>(large));
  const JobId job = Sealed({.chunks = std::vector<int>(fit + 2, limits::kItemsPerChunk)});
  const SessionId session = Joined();
  for (int i = 0; i < fit + 2; ++i) {
    Tell(Take(session, job, limits::kItemsPerChunk),
         {.ok = Upto(limits::kItemsPerChunk), .body = std::string(large, 'x')});
  }
  const OpenReports open = Must(store().ListOpenReports(job, 100));
  EXPECT_EQ(open.reports.size(), static_cast<std::size_t>(fit));
  EXPECT_EQ(open.reports.back().report.body.size(), large);
  EXPECT_TRUE(open.more);
}

TEST_P(StoreTest, WhoFollowsAJobIsKnownToAllForAWhile) {
  const JobId job = Sealed({.chunks = {2, 2}});
  const JobId other = Sealed({.chunks = {2}});
  const SessionId session = Joined();
  Take(session, job, 1);
  Take(session, job, 1);
  Take(Joined(), other, 1);
  EXPECT_TRUE(Must(store().ReadChange()).followed.empty());
  EXPECT_EQ(Must(store().Follow(job, std::chrono::minutes(1))), std::vector<SessionId>{session});
  EXPECT_EQ(Must(store().ReadChange()).followed, std::vector<JobId>{job});
  // It is never shortened.
  Must(store().Follow(job, Duration{}));
  Must(store().Follow(other, Duration{}));
  EXPECT_EQ(Must(store().ReadChange()).followed, std::vector<JobId>{job});
  EXPECT_EQ(CodeOfFailed(store().Follow({job.number + 100}, Duration{})), Code::kNotFound);
}

TEST_P(StoreTest, NewsGrowWithAllThatLetsSomethingBeGranted) {
  std::int64_t last = Must(store().ReadChange()).seq;
  const auto grew = [&] {
    const std::int64_t before = std::exchange(last, Must(store().ReadChange()).seq);
    return last > before;
  };
  EXPECT_FALSE(grew());
  Must(store().Announce());
  EXPECT_TRUE(grew());
  const JobId job = Draft({.chunks = {2}});
  EXPECT_FALSE(grew());
  Must(store().SealJob(job, 1));
  EXPECT_TRUE(grew());
  Must(store().PauseJob(job, ""));
  Must(store().ResumeJob(job));
  EXPECT_TRUE(grew());
  RunAll(job, Items({0}));
  grew();
  Must(store().ReopenJob(job, {}));
  EXPECT_TRUE(grew());
  EXPECT_GT(Must(store().ReadChange()).clock_us, 0);
}

}  // namespace tidemill
