// SPDX-License-Identifier: Apache-2.0
// What became of items: failures by what they have in common, and all attempts by page.
#include <algorithm>

#include "base/limits.h"
#include "server/attempts.h"
#include "server/failures.h"
#include "server/server_test.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class ResultsTest : public ServerTest {
 protected:
  static Outcome Failed(std::int64_t item, std::string error, Cause cause = Cause::kFailed) {
    Outcome row;
    row.item = item;
    row.cause = cause;
    row.exit = 3;
    row.error = std::move(error);
    row.machine = "i-1";
    return row;
  }
  static Outcome Done(std::int64_t item) {
    Outcome row;
    row.item = item;
    return row;
  }

  // Of as many leases as it takes; what is not named comes back.
  void Tell(SessionId session, std::vector<Outcome> rows) {
    for (int leases = 0; !rows.empty() && leases < 20; ++leases) {
      const auto granted = Sync(SyncOf(session));
      ASSERT_TRUE(granted && granted->grants.size() == 1);
      TellOne(granted->grants[0], rows);
    }
    EXPECT_TRUE(rows.empty());
  }

  void TellOne(const Grant& grant, std::vector<Outcome>& rows) {
    SyncRequest request = SyncOf(grant.lease.session);
    request.free = {0, 0};
    Settlement& settlement = request.settlements.emplace_back();
    settlement.lease = grant.lease.id;
    settlement.back = grant.lease.mine.Resized(limits::kItemsPerChunk);
    std::vector<Outcome> told;
    std::erase_if(rows, [&](const Outcome& row) {
      const auto offset = static_cast<int>(row.item - grant.first_item);
      if (offset < 0 || offset >= limits::kItemsPerChunk || !settlement.back.Get(offset)) {
        return false;
      }
      (row.cause == Cause::kSucceeded ? settlement.ok : settlement.failed).Set(offset);
      settlement.back.Clear(offset);
      told.push_back(row);
      return true;
    });
    settlement.body = EncodeBlock(told);
    ASSERT_TRUE(Sync(request));
  }

  FailureSummary Failures(JobId job) { return GroupFailures(store_, job).value(); }

  Reopened RetryGroup(JobId job, FailureKey key) {
    return Await<Reopened>([&](Reply<Reopened> reply) {
             server_.jobs().RetryGroup(job, std::move(key), std::move(reply));
           })
        .value();
  }

  std::vector<OutcomeRow> AllAttempts(JobId job, int limit) {
    std::vector<OutcomeRow> rows;
    AttemptsRequest request{.job = job, .limit = limit};
    while (true) {
      const OutcomePage page = ListAttempts(store_, request).value();
      EXPECT_LE(page.rows.size(), static_cast<std::size_t>(limit));
      rows.insert(rows.end(), page.rows.begin(), page.rows.end());
      if (!page.next) return rows;
      EXPECT_NE(*page.next, request.after);
      request.after = *page.next;
    }
  }
};

TEST_F(ResultsTest, GroupsItemsThatHaveFailedByWhatTheyHaveInCommon) {
  const SessionId session = Join();
  const JobId job = SubmitRange(6);
  Tell(session,
       {Failed(0, "a"), Failed(1, "b"), Done(2), Failed(3, "b"), Failed(4, "", Cause::kTimeout)});
  FailureSummary summary = Failures(job);
  EXPECT_EQ(summary.failed, 4);
  ASSERT_EQ(summary.groups.size(), 3u);
  EXPECT_EQ(summary.groups[0].key.signature, "b");
  EXPECT_EQ(summary.groups[0].first_items, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(summary.groups[0].example.machine, "i-1");
  EXPECT_EQ(summary.groups[1].key.signature, "a");
  EXPECT_EQ(summary.groups[2].key, (FailureKey{"timeout", Cause::kTimeout}));
  // The same from a block.
  Tell(session, {Done(5)});
  RunFor(seconds(3));
  ASSERT_TRUE(store_.ListReports({job, 0})->empty());
  EXPECT_EQ(Failures(job).groups, summary.groups);
}

TEST_F(ResultsTest, AnItemThatWaitsForItsRetryHasNotFailed) {
  const SessionId session = Join();
  const JobId job = SubmitRange(2, 1);
  Tell(session, {Failed(0, "a")});
  EXPECT_EQ(Failures(job).failed, 0);
}

TEST_F(ResultsTest, RetriesAGroupAndNoOther) {
  const SessionId session = Join();
  const JobId job = SubmitRange(4);
  Tell(session, {Failed(0, "a"), Failed(1, "b"), Failed(2, "b"), Done(3)});
  RunFor(seconds(3));
  EXPECT_EQ(RetryGroup(job, {"c", Cause::kFailed}), (Reopened{0, 0}));
  EXPECT_EQ(RetryGroup(job, {"b", Cause::kTimeout}), (Reopened{0, 0}));
  EXPECT_EQ(store_.CountItems(job)->counts.failed, 3);
  EXPECT_EQ(RetryGroup(job, {"b", Cause::kFailed}), (Reopened{2, 1}));
  EXPECT_EQ(Failures(job).failed, 1);
  RunFor(seconds(1));
  // One of them fails otherwise now: its last word counts.
  Tell(session, {Failed(1, "a"), Done(2)});
  const FailureSummary summary = Failures(job);
  ASSERT_EQ(summary.groups.size(), 1u);
  EXPECT_EQ(summary.groups[0].key.signature, "a");
  EXPECT_EQ(summary.groups[0].first_items, (std::vector<std::int64_t>{0, 1}));
}

TEST_F(ResultsTest, ListsEveryAttemptOnceWhateverThePage) {
  const SessionId session = Join();
  const JobId job = SubmitRange(5);
  Tell(session, {Failed(0, "a"), Failed(1, "b"), Done(2), Done(3), Done(4)});
  RunFor(seconds(3));
  EXPECT_EQ(RetryGroup(job, {"b", Cause::kFailed}), (Reopened{1, 1}));
  RunFor(seconds(1));
  Outcome result = Done(1);
  result.result = "{\"score\":1}";
  Tell(session, {result});
  for (const bool rolled : {false, true}) {
    if (rolled) RunFor(seconds(3));
    EXPECT_EQ(store_.ListReports({job, 0})->empty(), rolled);
    const std::vector<OutcomeRow> all = AllAttempts(job, 1000);
    ASSERT_EQ(all.size(), 6u);
    for (int limit = 1; limit < 6; ++limit) EXPECT_EQ(AllAttempts(job, limit), all);
    EXPECT_TRUE(all[0].last);
    EXPECT_EQ(all[1].outcome.item, 1);
    EXPECT_EQ(all[1].outcome.error, "b");
    EXPECT_FALSE(all[1].last);
    EXPECT_EQ(all[2].outcome.item, 1);
    EXPECT_EQ(all[2].outcome.round, 1);
    EXPECT_EQ(all[2].outcome.result, "{\"score\":1}");
    EXPECT_TRUE(all[2].last);
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& row) { return row.last; }), 5);
  }
}

TEST_F(ResultsTest, OfTwoAttemptsInOneBlockTheSecondIsTheLastWord) {
  const SessionId session = Join();
  const JobId job = SubmitRange(1, 1);
  Tell(session, {Failed(0, "a")});
  RunFor(seconds(6));  // it rests, and is then kept from this machine for a while
  Outcome second = Done(0);
  second.attempt = 2;
  Tell(session, {second});
  RunFor(seconds(3));
  ASSERT_TRUE(store_.ListReports({job, 0})->empty());
  const std::vector<OutcomeRow> all = AllAttempts(job, 10);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0].last);
  EXPECT_TRUE(all[1].last);
}

TEST_F(ResultsTest, AttemptsHaveTheTextOfTheirItem) {
  const SessionId session = Join();
  const JobId job = store_.CreateJob(JobOf({}, 0))->id;
  for (const int part : {0, 1}) {
    ASSERT_TRUE(Await<Job>([&](Reply<Job> reply) {
      server_.jobs().AddPart(job, {.number = part, .text = part == 0 ? "a\nb\n" : "c\n"},
                             std::move(reply));
    }));
  }
  ASSERT_TRUE(Await<Job>([&](Reply<Job> reply) { server_.jobs().Seal(job, 2, std::move(reply)); }));
  RunFor(seconds(1));
  Tell(session, {Done(0), Done(1)});
  Tell(session, {Done(2)});
  const std::vector<OutcomeRow> all = AllAttempts(job, 1);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].text, "a");
  EXPECT_EQ(all[1].text, "b");
  EXPECT_EQ(all[2].text, "c");
}

TEST_F(ResultsTest, OfNoJobThereIsNothing) {
  EXPECT_EQ(GroupFailures(store_, {999}).error().code, Code::kNotFound);
  EXPECT_EQ(ListAttempts(store_, {.job = {999}}).error().code, Code::kNotFound);
  EXPECT_TRUE(AllAttempts(SubmitRange(5), 10).empty());
}

}  // namespace
}  // namespace tidemill
