// SPDX-License-Identifier: Apache-2.0
// What people read: items with their outcomes, statistics, counts of many jobs, machines.
#include "base/limits.h"
#include "server/server_test.h"
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class ReadingTest : public ServerTest {
 protected:
  Outcome Row(std::int64_t item, int attempt, Cause cause) {
    Outcome row;
    row.item = item;
    row.attempt = attempt;
    row.cause = cause;
    row.exit = cause == Cause::kSucceeded ? 0 : 3;
    row.duration_ms = 1000;
    row.cpu_ms = 1500;
    row.machine = "i-1";
    return row;
  }

  // One lease with all items that there are, as one report settles it.
  Grant Take(SessionId session) {
    SyncRequest request = SyncOf(session);
    const auto result = Sync(request);
    EXPECT_TRUE(result && result->grants.size() == 1);
    return result->grants.at(0);
  }

  void Tell(const Grant& grant, const Bits& ok, const Bits& failed, std::vector<Outcome> rows) {
    SyncRequest request = SyncOf(grant.lease.session);
    request.free = {0, 0};
    Settlement& settlement = request.settlements.emplace_back();
    settlement.lease = grant.lease.id;
    settlement.ok = ok;
    settlement.failed = failed;
    settlement.back = (grant.lease.mine.Resized(limits::kItemsPerChunk) - ok) - failed;
    settlement.body = EncodeBlock(rows);
    ASSERT_TRUE(Sync(request));
  }

  ItemPage Items(ItemsRequest request) {
    request.outcomes = true;
    const auto page =
        Await<ItemPage>([&](Reply<ItemPage> reply) { server_.jobs().Items(request, reply); });
    EXPECT_TRUE(page);
    return page.value_or(ItemPage{});
  }

  JobStats Stats(JobId job) {
    const auto stats =
        Await<JobStats>([&](Reply<JobStats> reply) { server_.jobs().Stats(job, reply); });
    EXPECT_TRUE(stats);
    return stats.value_or(JobStats{});
  }

  Job Find(JobId job) { return store_.FindJob(job).value(); }
};

Bits Offsets(std::initializer_list<int> offsets) {
  Bits bits(limits::kItemsPerChunk);
  for (const int offset : offsets) bits.Set(offset);
  return bits;
}

TEST_F(ReadingTest, ShowsTheNewestOutcomeAlsoOfItemsThatWaitToBeTriedAgain) {
  const SessionId session = Join();
  const JobId job = SubmitRange(4, 1);
  Tell(Take(session), Offsets({0}), Offsets({1}),
       {Row(0, 1, Cause::kSucceeded), Row(1, 1, Cause::kTimeout)});
  const ItemPage page = Items({.job = job, .state = {}, .from = {}});
  ASSERT_EQ(page.items.size(), 4u);
  ASSERT_TRUE(page.items[0].outcome);
  EXPECT_EQ(page.items[0].outcome->cause, Cause::kSucceeded);
  EXPECT_EQ(page.items[0].outcome->machine, "i-1");
  EXPECT_EQ(page.items[0].attempts, 1);
  EXPECT_EQ(page.items[1].state, ItemState::kWaiting);
  ASSERT_TRUE(page.items[1].outcome);
  EXPECT_EQ(page.items[1].outcome->cause, Cause::kTimeout);
  EXPECT_EQ(page.items[1].outcome->exit, 3);
  EXPECT_FALSE(page.items[2].outcome);
}

TEST_F(ReadingTest, FindsOutcomesInBlocksAndInReportsOfALaterRound) {
  const SessionId session = Join();
  const JobId job = SubmitRange(2);
  Tell(Take(session), Offsets({0}), Offsets({1}),
       {Row(0, 1, Cause::kSucceeded), Row(1, 1, Cause::kFailed)});
  RunFor(seconds(3));
  ASSERT_TRUE(store_.ListReports({job, 0})->empty());
  ItemPage page = Items({.job = job, .state = {}, .from = {}});
  EXPECT_EQ(page.items[1].outcome->cause, Cause::kFailed);
  EXPECT_EQ(page.items[1].outcome->round, 0);
  ASSERT_TRUE(Await<Reopened>(
      [&](Reply<Reopened> reply) { server_.jobs().Retry(job, ReopenWhich{}, reply); }));
  RunFor(seconds(1));
  Tell(Take(session), Offsets({1}), {Offsets({})}, {Row(1, 1, Cause::kSucceeded)});
  page = Items({.job = job, .state = {}, .from = {}});
  EXPECT_EQ(page.items[0].attempts, 1);
  EXPECT_EQ(page.items[1].attempts, 2);
  EXPECT_EQ(page.items[1].outcome->cause, Cause::kSucceeded);
  EXPECT_EQ(page.items[1].outcome->round, 1);
}

TEST_F(ReadingTest, BelievesNoOutcomeOfItemsThatWereNotSettled) {
  const SessionId session = Join();
  const JobId job = SubmitRange(4, 1);
  Tell(Take(session), Offsets({0}), Offsets({}),
       {Row(0, 1, Cause::kSucceeded), Row(1, 1, Cause::kFailed)});
  const ItemPage page = Items({.job = job, .state = {}, .from = {}});
  EXPECT_TRUE(page.items[0].outcome);
  EXPECT_FALSE(page.items[1].outcome);
  EXPECT_EQ(Stats(job).summary.Attempts(), 1);
}

TEST_F(ReadingTest, EndsAPageEarlyBeforeItUnpacksTooManyChunks) {
  const JobId job = SubmitRange(40 * limits::kItemsPerChunk);
  ASSERT_TRUE(Await<Job>([&](Reply<Job> reply) { server_.jobs().Pause(job, std::move(reply)); }));
  ItemsRequest request{.job = job, .state = {}, .from = {}, .limit = limits::kPageRows};
  // Places such that each page touches as few items of a chunk as it can.
  request.from = {0, limits::kItemsPerChunk - 1};
  ItemPage page = Items(request);
  EXPECT_EQ(page.items.size(), static_cast<std::size_t>(limits::kPageRows));
  // Chunks of one item: the bound on chunks comes before the one on items.
  const JobId small = SubmitLines(20);
  request = {.job = small, .state = {}, .from = {}, .limit = limits::kPageRows};
  page = Items(request);
  EXPECT_EQ(page.items.size(), 16u);
  ASSERT_TRUE(page.next);
  request.from = *page.next;
  page = Items(request);
  EXPECT_EQ(page.items.size(), 4u);
  EXPECT_EQ(page.items[0].item, 16);
  EXPECT_FALSE(page.next);
}

TEST_F(ReadingTest, AddsUpWhatItemsTookOnceTheirChunkIsDone) {
  const SessionId session = Join();
  const JobId job = SubmitRange(4);
  SyncRequest request = SyncOf(session);
  request.settlements = {Succeed(Sync(request)->grants[0])};
  ASSERT_TRUE(Sync(request));
  RunFor(seconds(3));
  const JobStats stats = Stats(job);
  EXPECT_EQ(stats.summary.Attempts(), 4);
  EXPECT_NEAR(static_cast<double>(*stats.summary.duration_ms.Quantile(0.5)), 100, 7);
  EXPECT_FALSE(stats.partial);
}

TEST_F(ReadingTest, AddsUpAttemptsOfChunksUnderWayOnceAndOnlyOnce) {
  const SessionId session = Join();
  const JobId job = SubmitRange(4, 1);
  Tell(Take(session), Offsets({0}), Offsets({1}),
       {Row(0, 1, Cause::kSucceeded), Row(1, 1, Cause::kFailed)});
  JobStats stats = Stats(job);
  EXPECT_EQ(stats.summary.attempts, (std::array<std::int64_t, kCauses>{1, 1, 0, 0}));
  EXPECT_EQ(stats.summary.outcomes, (std::array<std::int64_t, kCauses>{1, 0, 0, 0}));
  EXPECT_EQ(stats.summary.cpu_range_millis, (ColumnRange{1500, 1500}));
  EXPECT_FALSE(stats.partial);
  for (int leases = 0; leases < 3 && store_.CountItems(job)->counts.succeeded < 4; ++leases) {
    // Another machine would get the retry sooner; there is none.
    RunFor(seconds(6));
    const Grant rest = Take(session);
    std::vector<Outcome> rows;
    for (const int i : rest.lease.mine.Indexes()) rows.push_back(Row(i, 2, Cause::kSucceeded));
    Tell(rest, rest.lease.mine.Resized(limits::kItemsPerChunk), Offsets({}), rows);
  }
  RunFor(seconds(3));
  ASSERT_TRUE(store_.ListReports({job, 0})->empty());
  stats = Stats(job);
  EXPECT_EQ(stats.summary.attempts, (std::array<std::int64_t, kCauses>{4, 1, 0, 0}));
  EXPECT_EQ(stats.summary.outcomes, (std::array<std::int64_t, kCauses>{4, 0, 0, 0}));
}

// What is rolled up between the two looks is in both of them.
TEST_F(ReadingTest, CountsNothingTwiceThatIsRolledUpWhileItReads) {
  const SessionId session = Join();
  const JobId job = SubmitRange(1);
  Tell(Take(session), Offsets({0}), Offsets({}), {Row(0, 1, Cause::kSucceeded)});
  RunFor(seconds(3));
  const ChunkStat rolled = store_.ListStats(job, 0, 1)->at(0);
  OpenReports before;
  before.reports.push_back({Report{{1, 2},
                                   0,
                                   {job, 0},
                                   0,
                                   ReportKind::kAgent,
                                   Bits::All(1),
                                   Bits::All(1),
                                   EncodeBlock({{Row(0, 1, Cause::kSucceeded)}})},
                            0, rolled.round});
  store_.open_reports = before;
  EXPECT_EQ(Stats(job).summary.Attempts(), 1);
  // One of a later round is not in that block.
  store_.open_reports->reports[0].chunk_round = rolled.round + 1;
  EXPECT_EQ(Stats(job).summary.Attempts(), 2);
  store_.open_reports->more = true;
  EXPECT_TRUE(Stats(job).partial);
}

TEST_F(ReadingTest, CountsJobsThatAreOverOnce) {
  const JobId running = SubmitRange(3);
  const JobId over = SubmitRange(2);
  ASSERT_TRUE(Await<Job>([&](Reply<Job> reply) { server_.jobs().Cancel(over, reply); }));
  RunFor(seconds(3));
  const auto list = [&] {
    return Await<JobCountsPage>(
               [&](Reply<JobCountsPage> reply) { server_.jobs().ListCounts({}, reply); })
        .value();
  };
  JobCountsPage page = list();
  ASSERT_EQ(page.jobs.size(), 2u);
  EXPECT_EQ(page.jobs[0].job.id, over);
  EXPECT_EQ(page.jobs[0].counts, (Counts{.total = 2, .cancelled = 2}));
  EXPECT_EQ(page.jobs[1].job.id, running);
  EXPECT_EQ(page.jobs[1].counts, (Counts{.total = 3, .waiting = 3}));
  EXPECT_FALSE(page.more);
  EXPECT_EQ(store_.counted, 2);
  list();
  EXPECT_EQ(store_.counted, 2);
  RunFor(seconds(3));
  EXPECT_EQ(list().jobs[0].counts, page.jobs[0].counts);
  EXPECT_EQ(store_.counted, 3);
}

TEST_F(ReadingTest, CountsAJobThatWasReopenedAnew) {
  const SessionId session = Join();
  const JobId job = SubmitRange(1);
  Tell(Take(session), Offsets({}), Offsets({0}), {Row(0, 1, Cause::kFailed)});
  RunFor(seconds(3));
  const auto counts = [&] {
    return Await<JobCountsPage>(
               [&](Reply<JobCountsPage> reply) { server_.jobs().ListCounts({}, reply); })
        ->jobs.at(0)
        .counts;
  };
  EXPECT_EQ(counts(), (Counts{.total = 1, .failed = 1}));
  // By another server: this one is not told.
  ASSERT_TRUE(store_.ReopenJob(job, {}));
  EXPECT_EQ(counts(), (Counts{.total = 1, .waiting = 1}));
}

TEST_F(ReadingTest, ListsMachinesWithWhatTheirAgentsSay) {
  const SessionId session = Join();
  SyncRequest request = SyncOf(session);
  request.status = MachineStatus{"docker", true, {}};
  ASSERT_TRUE(Sync(request));
  const auto machines = Await<std::vector<ListedMachine>>(
      [&](Reply<std::vector<ListedMachine>> reply) { server_.jobs().Machines({}, reply); });
  ASSERT_EQ(machines->size(), 1u);
  EXPECT_EQ(machines->at(0).session.id, session);
  EXPECT_EQ(machines->at(0).status, request.status);
}

}  // namespace
}  // namespace tidemill
