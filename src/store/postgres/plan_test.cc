// SPDX-License-Identifier: Apache-2.0
// The plans that matter, as PostgreSQL makes them for our prepared statements with our settings.
#include <deque>

#include <gtest/gtest.h>

#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/postgres/test_database.h"

namespace tidemill {
namespace {

const std::string kUuids = "array['00000000-0000-0001-0000-000000000001']::uuid[]";

// Tables as they are in use: three jobs of 500 chunks, with leases, reports and tries.
void Fill(TestDatabase& database) {
  database.Sql(R"(
    insert into job (project, submit_key, name, millicpus, memory_bytes, retries, document, state,
                     open, chunks, items)
      select 'p', j::text, 'job', 1000, 0, 0, '{}', case j when 3 then 3 else 1 end, false, 500,
             32000 from generate_series(1, 3) j;
    insert into chunk (job_id, chunk, first_item, done, failed, leased, parked, lost1, suspect,
                       resting)
      select j, c, c * 64, case when c % 3 = 0 then ~ z else z end, z, z, z, z, z, z
      from generate_series(1, 3) j, generate_series(0, 499) c,
           lateral (select repeat('0', 64)::varbit) zeros (z);
    insert into agent_session (session_id, machine, pool, millicpus, memory_bytes, expires_at)
      select gen_random_uuid(), 'm', 'pool', 0, 0, now() from generate_series(1, 1000);
    insert into lease (lease_id, session_id, job_id, chunk, round, mine)
      select gen_random_uuid(), session_id, 1, 1, 0, B'1'::bit(64) from agent_session;
    insert into report (job_id, chunk, lease_id, seq, round, kind, settled, ended, body)
      select j, c, gen_random_uuid(), 0, 0, 0, B'1', B'1', ''
      from generate_series(1, 3) j, generate_series(0, 499) c;
    insert into item_try (job_id, item, chunk, due_at)
      select j, i, i / 64, case when i % 4 > 0 then now() + i * interval '1 s' end
      from generate_series(1, 3) j, generate_series(1, 3000) i;
    insert into machine (project, pool, number, name, state, since, price, billed_from,
                         put_down_until, ordered)
      select 'default', 'default', n, 'm' || n, case when n < 9900 then 4 else 2 end, now(), 0,
             now(), now(), true from generate_series(1, 10000) n;
    insert into job_time (job_id, server, items, seconds, squares, lost_seconds)
      select j, s::text, 1, 1, 1, 0 from generate_series(1, 3) j, generate_series(1, 500) s;
    update chunk set over_at = now(), rolled = true where chunk % 100 = 0;
    insert into item_once (job_id, mark, day)
      select j, decode(md5(i::text), 'hex'), 20000 + i % 40
      from generate_series(1, 3) j, generate_series(1, 5000) i;
    insert into spend (job_id, project, account, time_us, micros)
      select j, '', 0, 1, 1 from generate_series(1, 3000) j;
    analyze)");
}

class PlanTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    SharedDatabase().Clean();
    Fill(SharedDatabase());
  }
  static void TearDownTestSuite() { SharedDatabase().Clean(); }

  // `params` give the types, `values` the same again as SQL has them.
  std::string Plan(const Statement& statement, const Params& params, const std::string& values) {
    connection_->Send(statement, params);
    Must(connection_->Flush());
    const std::string& name = texts_.emplace_back("explain_" + std::string(statement.name));
    const std::string& sql =
        texts_.emplace_back("explain execute " + std::string(statement.name) + values);
    connection_->Send({name.c_str(), sql.c_str()});
    const std::vector<Rows> answers = Must(connection_->Flush());
    std::string plan;
    for (int i = 0; i < answers[0].size(); ++i) plan += answers[0][i].Text() + "\n";
    return plan;
  }

  static void ExpectUses(const std::string& plan, const std::vector<std::string>& indexes) {
    EXPECT_EQ(plan.find("Seq Scan"), std::string::npos) << plan;
    for (const std::string& index : indexes) {
      EXPECT_NE(plan.find(index), std::string::npos) << "no " << index << " in\n" << plan;
    }
  }

 private:
  std::deque<std::string> texts_;  // a connection keeps the names of what it has prepared
  std::unique_ptr<Connection> connection_ = Must(Connection::Open(SharedDatabase().conninfo()));
};

TEST_F(PlanTest, AFreeChunkIsFoundFromTheCursorOnWithoutSorting) {
  const std::string plan = Plan(kFindFree, Params().Big(1).Int(200).Int(500).Int(2).Flag(false),
                                "(1, 200, 500, 2, false)");
  ExpectUses(plan, {"Index Scan using chunk_with_free", "chunk >= $2"});
  EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
  const std::string worn =
      Plan(kFindWorn, Params().Big(1).Int(0).Int(500).Int(2), "(1, 0, 500, 2)");
  ExpectUses(worn, {"Index Scan using chunk_with_worn", "chunk >= $2"});
  EXPECT_EQ(worn.find("Sort"), std::string::npos) << worn;
}

TEST_F(PlanTest, ChunksAreLockedByTheirKeys) {
  ExpectUses(
      Plan(kLockChunks, ChunkKeys({{{1}, 4}, {{2}, 5}}), "(array[1, 2]::bigint[], array[4, 5])"),
      {"Index Scan using chunk_pkey"});
}

TEST_F(PlanTest, ChunksAreWrittenByTheirKeys) {
  const std::string bits = "array[B'1'::varbit]";
  std::string values = "(array[1]::bigint[], array[9999], array[0]";
  for (int plane = 0; plane < 7; ++plane) values += ", " + bits;
  Chunk chunk = NewChunk({{1}, 9999}, 0, 1);
  ExpectUses(Plan(kWriteChunks, ChunkPlanes({&chunk}), values + ")"),
             {"Index Scan using chunk_pkey"});
}

TEST_F(PlanTest, SessionsAreRenewedByTheirIds) {
  const std::vector<SessionId> sessions{{1, 1}};
  ExpectUses(Plan(kLockSessions, Params().Uuids(sessions), "(" + kUuids + ")"),
             {"on agent_session", "session_id = ANY", "LockRows"});
  // By each id, not all of them for each.
  ExpectUses(
      Plan(kRenew, Params().Uuids(sessions).Bigs({1}).BytesList({"s"}).BytesList({"t"}).Bigs({1}),
           "(" + kUuids + ", array[1]::bigint[], array['s']::bytea[], array['t']::bytea[]," +
               " array[1]::bigint[])"),
      {"on agent_session", "Index Cond: (session_id = k.id)"});
}

TEST_F(PlanTest, APassIsCheckedWithTheLeasesOfItsSessionAndNotOfTheJob) {
  const std::string plan = Plan(kCheckPass, Params().Uuid(SessionId{1, 1}).Big(1),
                                "('00000000-0000-0001-0000-000000000001', 1)");
  ExpectUses(plan, {"on agent_session", "lease_of_session"});
  EXPECT_EQ(plan.find("lease_of_job"), std::string::npos) << plan;
}

TEST_F(PlanTest, MachinesAreListedFromTheLiveOnesOnWithoutSorting) {
  const std::string plan = Plan(kListMachines, Params().Uuid(SessionId{1, 1}).Int(10).Text(""),
                                "('00000000-0000-0001-0000-000000000001', 10, '')");
  ExpectUses(plan, {"Index Scan using agent_session", "lease_of_session"});
  EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
}

TEST_F(PlanTest, TheReaperLooksAtLiveSessionsOnly) {
  const std::string plan = Plan(kLockExpired, Params().Int(10), "(10)");
  ExpectUses(plan, {"Index Scan using agent_session_live"});
  EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
}

TEST_F(PlanTest, WhatOthersHaveLockedIsFoundAmongTheChunksWithFreeItems) {
  ExpectUses(Plan(kAnyFreeBut, Params().Big(1).Ints({1, 2}).Big(5), "(1, array[1, 2], 5)"),
             {"chunk_with_free", "item_try_due", "due_at <="});
}

TEST_F(PlanTest, WhatIsDueIsFoundByItsTimeWithoutSorting) {
  const std::string plan = Plan(kFindDue, Params().Big(1).Big(100).Int(64), "(1, 100, 64)");
  ExpectUses(plan, {"Index Scan using item_try_due", "due_at <=", "Index Scan using chunk_pkey"});
  EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
  ExpectUses(Plan(kTakeDue, Params().Big(1).Bigs({4, 5}), "(1, array[4, 5]::bigint[])"),
             {"item_try_pkey", "item = ANY"});
}

TEST_F(PlanTest, TriesAreReadAndWrittenByTheirItems) {
  ExpectUses(Plan(kTriesToSettle, Params().Bigs({1}).Bigs({7}),
                  "(array[1]::bigint[], array[7]::bigint[])"),
             {"item_try_pkey", "item = k.item"});
  ExpectUses(Plan(kEndRests, Params().Big(1).Bigs({0}).Bigs({63}),
                  "(1, array[0]::bigint[], array[63]::bigint[])"),
             {"item_try_pkey", "item >= k.first"});
}

TEST_F(PlanTest, ThoseToBlameAreLockedByTheirIds) {
  ExpectUses(Plan(kBlame, Params().Uuids(std::vector<SessionId>{{1, 1}}).Bigs({1}),
                  "(" + kUuids + ", array[1]::bigint[])"),
             {"session_id = ANY", "session_id = l.session_id", "LockRows"});
}

TEST_F(PlanTest, RecordsAreOfLiveSessionsOnly) {
  ExpectUses(Plan(kListRecords, Params(), ""), {"agent_session"});
}

TEST_F(PlanTest, LeasesAreReadAndLockedByIndex) {
  const std::vector<SessionId> sessions{{1, 1}};
  const std::vector<LeaseId> leases{{1, 1}};
  ExpectUses(Plan(kReadLeases, Params().Uuids(sessions), "(" + kUuids + ")"), {"lease_of_session"});
  ExpectUses(
      Plan(kLockLeases, Params().Uuids(leases).Uuids(sessions), "(" + kUuids + ", " + kUuids + ")"),
      {"lease_pkey", "lease_of_session"});
  ExpectUses(Plan(kLockLeasesOfSessions, Params().Uuids(sessions), "(" + kUuids + ")"),
             {"lease_of_session"});
}

TEST_F(PlanTest, TakenReportsAreLookedUpByTheirWholeKey) {
  ExpectUses(
      Plan(kTakenReports, ChunkKeys({{{1}, 4}}).Uuids(std::vector<LeaseId>{{1, 1}}).Ints({0}),
           "(array[1]::bigint[], array[4], " + kUuids + ", array[0])"),
      {"using report_pkey", "(lease_id = k.lease) AND (seq = k.seq)"});
}

TEST_F(PlanTest, TriesAreReadByRange) {
  ExpectUses(Plan(kReadTries, Params().Bigs({1}).Bigs({5}).Bigs({9}),
                  "(array[1]::bigint[], array[5]::bigint[], array[9]::bigint[])"),
             {"item_try_pkey", "item >= k.first"});
}

TEST_F(PlanTest, JobsWithSomethingToPackAreFoundByItsAge) {
  ExpectUses(Plan(kListPackable, Params().Big(0).Big(0).Int(100), "(0, 0, 100)"),
             {"chunk_to_pack"});
}

TEST_F(PlanTest, MarksAreFoundByTheirKeysAndForgottenByTheirDay) {
  const Params marks = Params().Big(1).BytesList({"m"});
  const std::string values = "(1, array['m']::bytea[])";
  ExpectUses(Plan(kFindMarks, marks, values), {"item_once_pkey"});
  ExpectUses(Plan(kRenewMarks, marks, values), {"item_once_pkey"});
  ExpectUses(Plan(kForgetMarks, Params().Int(15).Int(100), "(15, 100)"), {"item_once_day"});
}

TEST_F(PlanTest, CountingReadsTheChunksOfOneJob) {
  ExpectUses(Plan(kCountItems, Params().Bigs({1, 2}), "(array[1, 2]::bigint[])"),
             {"job_pkey", "on chunk c", "job_id ="});
}

TEST_F(PlanTest, OpenReportsAreReadFromTheNewestOnes) {
  ExpectUses(Plan(kListOpenReports, Params().Big(1).Int(10).Big(1000), "(1, 10, 1000)"),
             {"Index Scan Backward using report_pkey", "chunk_pkey"});
}

TEST_F(PlanTest, WhoRunsAnItemIsFoundFromTheFirstChunkThatItCanBeIn) {
  ExpectUses(Plan(kFindItemLease, Params().Big(1).Int(4).Big(300), "(1, 4, 300)"),
             {"chunk_pkey", "chunk >= ", "lease_of_job"});
}

TEST_F(PlanTest, RunnableAndSweepableJobsAreFoundAmongTheLiveOnes) {
  ExpectUses(Plan(kListRunnable, Params().Int(10).Int(256).Int(100), "(10, 256, 100)"),
             {"job_live_of_project", "chunk_with_free", "item_try_due", "due_at <="});
  ExpectUses(Plan(kListSweepable, Params().Int(10), "(10)"), {"job_live", "chunk_not_done"});
}

TEST_F(PlanTest, WhomToTellIsFoundAmongThoseWhoWantIt) {
  ExpectUses(Plan(kListUntold, Params().Big(0).Int(10), "(0, 10)"), {"job_untold"});
  ExpectUses(Plan(kListBudgets, Params().Big(0).Int(10), "(0, 10)"), {"job_budget"});
  ExpectUses(Plan(kTakeNotifications, Params().Int(8).Int(2).Text("a b").Big(30'000'000),
                  "(8, 2, 'a b', 30000000)"),
             {"notification_due", "notification_pkey"});
}

// All leases are read; of all else, what belongs to the jobs that are live.
TEST_F(PlanTest, ASnapshotReadsASampleOfEachLiveJob) {
  const std::string plan = Plan(kSnapshotJobs, Params().Int(256).Int(2048), "(256, 2048)");
  for (const char* index : {"job_live", "chunk_with_free", "item_try_due", "chunk_pkey"}) {
    EXPECT_NE(plan.find(index), std::string::npos) << "no " << index << " in\n" << plan;
  }
  for (const char* table : {"job j", "chunk", "item_try", "job_time", "spend"}) {
    EXPECT_EQ(plan.find("Seq Scan on " + std::string(table)), std::string::npos) << plan;
  }
}

TEST_F(PlanTest, ASnapshotPassesOverMachinesThatAreGone) {
  ExpectUses(Plan(kSnapshotMachines, Params(), ""), {"machine_live"});
}

TEST_F(PlanTest, ChunksToRollUpAreFoundByTheirOwnIndex) {
  const std::string plan = Plan(kLockToRoll, Params().Int(8), "(8)");
  ExpectUses(plan, {"Index Scan using chunk_to_roll"});
  EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
}

}  // namespace
}  // namespace tidemill
