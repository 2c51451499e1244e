// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/batch.h"

#include "base/bytes.h"
#include "model/places.h"
#include "server/server_test.h"
#include "wire/job_json.h"
#include "wire/outcome_json.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class LedgerBatchTest : public ServerTest {
 protected:
  // Of as many leases as it takes.
  void Tell(SessionId session, std::vector<Outcome> rows) {
    for (int leases = 0; !rows.empty() && leases < 20; ++leases) {
      const auto granted = Sync(SyncOf(session));
      ASSERT_TRUE(granted && granted->grants.size() == 1);
      const Grant& grant = granted->grants[0];
      SyncRequest request = SyncOf(session);
      request.free = {0, 0};
      Settlement& settlement = request.settlements.emplace_back();
      settlement.lease = grant.lease.id;
      std::vector<Outcome> told;
      std::erase_if(rows, [&](const Outcome& row) {
        const auto offset = static_cast<int>(row.item - grant.first_item);
        if (!grant.lease.mine.Get(offset)) return false;
        (row.cause == Cause::kSucceeded ? settlement.ok : settlement.failed).Set(offset);
        told.push_back(row);
        return true;
      });
      settlement.body = EncodeBlock(told);
      ASSERT_TRUE(Sync(request));
    }
    EXPECT_TRUE(rows.empty());
  }

  // Puts all that is due, as a writer would, until nothing is.
  void PutAll() {
    for (int i = 0; i < 100; ++i) {
      const LedgerBatch batch = MakeLedgerBatch(store_, store_, "file:///x", {0}).value();
      if (batch.tasks.empty()) return;
      for (const LedgerTask& task : batch.tasks) {
        for (const LedgerFile& file : task.files) {
          order_.push_back(file.url);
          files_[file.url] = file.bytes;
        }
        EXPECT_TRUE(task.mark(store_));
      }
    }
    ADD_FAILURE() << "there is always something due";
  }

  std::vector<OutcomeRow> Rows(const std::string& name) {
    std::vector<OutcomeRow> rows;
    const std::string lines = Decompress(files_.at(Place() + name), 1 << 20).value();
    std::string_view rest = lines;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      rows.push_back(ParseOutcomeRow(rest.substr(0, end)).value());
      rest.remove_prefix(end + 1);
    }
    return rows;
  }

  static Outcome Row(std::int64_t item, Cause cause) {
    Outcome row;
    row.item = item;
    row.cause = cause;
    row.error = cause == Cause::kSucceeded ? "" : "a";
    return row;
  }

  // Of the first job.
  std::string Place() { return JobPlace("file:///x", store_.FindJob({1}).value()) + "ledger/"; }
  std::map<std::string, std::string> files_;
  std::vector<std::string> order_;
};

TEST_F(LedgerBatchTest, WritesOutcomesWhenAChunkIsOverAndTheJobsEndLast) {
  const SessionId session = Join();
  const JobId job = SubmitRange(3);
  Tell(session, {Row(0, Cause::kSucceeded), Row(1, Cause::kFailed), Row(2, Cause::kSucceeded)});
  // It is finished, but not rolled up: nobody may read yet that it is.
  ASSERT_TRUE(store_.SweepJob(job));
  PutAll();
  EXPECT_EQ(files_.count(Place() + "outcomes/00000000-0.jsonl.zst"), 0u);
  RunFor(seconds(3));
  PutAll();
  EXPECT_EQ(order_.back(), Place() + "job.json");
  const JobCounts counts = ParseJobCounts(files_.at(Place() + "job.json")).value();
  EXPECT_EQ(counts.job.state, JobState::kFinished);
  EXPECT_EQ(counts.counts.failed, 1);
  const std::vector<OutcomeRow> rows = Rows("outcomes/00000000-0.jsonl.zst");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].last && rows[1].last && rows[2].last);
  EXPECT_EQ(rows[1].outcome.error, "a");
}

TEST_F(LedgerBatchTest, ARetryChangesWhatWasTheLastWord) {
  const SessionId session = Join();
  const JobId job = SubmitRange(2);
  Tell(session, {Row(0, Cause::kSucceeded), Row(1, Cause::kFailed)});
  RunFor(seconds(3));
  PutAll();
  ASSERT_TRUE(Await<Reopened>(
      [&](Reply<Reopened> reply) { server_.jobs().Retry(job, {}, std::move(reply)); }));
  PutAll();
  EXPECT_FALSE(Rows("outcomes/00000000-0.jsonl.zst").at(1).last);
  EXPECT_EQ(ParseJobCounts(files_.at(Place() + "job.json"))->job.state, JobState::kActive);
  RunFor(seconds(1));
  Tell(session, {Row(1, Cause::kSucceeded)});
  RunFor(seconds(3));
  PutAll();
  const std::vector<OutcomeRow> rows = Rows("outcomes/00000000-1.jsonl.zst");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].last);
  EXPECT_EQ(rows[0].outcome.round, 1);
  EXPECT_EQ(ParseJobCounts(files_.at(Place() + "job.json"))->job.state, JobState::kFinished);
}

}  // namespace
}  // namespace tidemill
