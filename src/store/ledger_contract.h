// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/store_testing.h"

// What is written to the object store, and what is not yet.
namespace tidemill {

inline std::vector<JobId> IdsOf(const std::vector<LedgerJob>& due) {
  std::vector<JobId> ids;
  for (const LedgerJob& one : due) ids.push_back(one.job.id);
  return ids;
}

TEST_P(StoreTest, AJobIsDueInTheLedgerUntilItsItemsAndStateAreWritten) {
  const JobId draft = Draft();
  const JobId job = Sealed({.chunks = {4, 4}});
  EXPECT_LT(draft, job);
  std::vector<LedgerJob> due = Must(ledger().ListLedgerJobs({0}, 10));
  EXPECT_EQ(IdsOf(due), std::vector<JobId>{job});
  EXPECT_EQ(due.at(0).chunks_written, 0);
  EXPECT_FALSE(due.at(0).begun);
  EXPECT_TRUE(due.at(0).settled);
  EXPECT_TRUE(Must(ledger().ListLedgerJobs(job, 10)).empty());
  Must(ledger().MarkLedgerItems(job, 2));
  Must(ledger().MarkLedgerItems(job, 1));
  due = Must(ledger().ListLedgerJobs({0}, 10));
  EXPECT_EQ(due.at(0).chunks_written, 2);
  Must(ledger().MarkLedgerState(job, JobState::kActive, 0));
  EXPECT_TRUE(Must(ledger().ListLedgerJobs({0}, 10)).empty());
  Must(store().PauseJob(job, ""));
  due = Must(ledger().ListLedgerJobs({0}, 10));
  EXPECT_EQ(IdsOf(due), std::vector<JobId>{job});
  EXPECT_TRUE(due.at(0).begun);
}

TEST_P(StoreTest, ABlockIsDueInTheLedgerUntilItIsWrittenAsItIs) {
  const JobId job = Sealed({.chunks = {4}});
  RunAll(job, Items({1, 3}));
  EXPECT_FALSE(Must(ledger().ListLedgerJobs({0}, 10)).at(0).settled);
  Must(store().RollUp(10, JoinBodies));
  EXPECT_FALSE(Must(ledger().ListLedgerJobs({0}, 10)).at(0).settled);
  std::vector<ChunkStat> due = Must(ledger().ListLedgerStats(10));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].ended, In(4, {0, 1, 2, 3}));
  Must(ledger().MarkLedgerStat(due[0]));
  EXPECT_TRUE(Must(ledger().ListLedgerStats(10)).empty());
  EXPECT_TRUE(Must(ledger().ListLedgerJobs({0}, 10)).at(0).settled);
  // What was its items' last word is that no more.
  Must(store().ReopenJob(job, {}));
  const std::vector<ChunkStat> changed = Must(ledger().ListLedgerStats(10));
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].ended, In(4, {0, 2}));
  // Who wrote it as it was before has not written it.
  Must(ledger().MarkLedgerStat(due[0]));
  EXPECT_EQ(Must(ledger().ListLedgerStats(10)).size(), 1u);
  Must(ledger().MarkLedgerStat(changed[0]));
  EXPECT_TRUE(Must(ledger().ListLedgerStats(10)).empty());
}

}  // namespace tidemill
