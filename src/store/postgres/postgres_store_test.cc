// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/postgres_store.h"

#include <gtest/gtest.h>

#include "store/postgres/migrations.h"
#include "store/postgres/rows.h"
#include "store/postgres/test_database.h"
#include "store/postgres/test_holder.h"
#include "store/store_contract.h"

namespace tidemill {

INSTANTIATE_TEST_SUITE_P(Postgres, StoreTest, testing::Values(StoreMaker([] {
                           return std::make_unique<PostgresHolder>();
                         })));
INSTANTIATE_TEST_SUITE_P(Postgres, WornTest, testing::Values(StoreMaker([] {
                           return std::make_unique<PostgresHolder>();
                         })));

TEST(PostgresStore, MigratesOnce) {
  TestDatabase database;
  PostgresStore store({database.conninfo(), 1});
  EXPECT_EQ(Must(store.Migrate()), 0);
  EXPECT_EQ(database.Sql("select count(*) from migration"),
            std::vector<std::string>{std::to_string(kMigrationCount)});
}

TEST(PostgresStore, WhatWasThereBeforeRetriesRestedGoesOn) {
  TestDatabase database;
  database.Sql("drop schema public cascade; create schema public");
  database.Sql("create table migration (number int primary key, name text not null)");
  for (const Migration& migration : {kMigrations[0], kMigrations[1], kMigrations[2]}) {
    database.Sql(migration.sql);
    database.Sql("insert into migration values (" + std::to_string(migration.number) + ", '')");
  }
  database.Sql(R"(
    insert into job (project, submit_key, name, document, millicpus, memory_bytes, retries, state,
                     open, chunks, items)
      values ('p', 'k', 'job', '{}', 1000, 7, 2, 1, false, 2, 8);
    insert into chunk (job_id, chunk, first_item, done, failed, leased, parked, lost1, suspect)
      select 1, c, c * 4, z, z, z, z, z, z from generate_series(0, 1) c,
             lateral (select repeat('0', 4)::varbit) zeros (z);
    insert into item_try (job_id, item, attempts) values (1, 5, 1))");
  PostgresStore store({database.conninfo(), 1});
  EXPECT_EQ(Must(store.Migrate()), kMigrationCount - 3);
  const StoreState state = Must(store.Dump({}, Bodies::kWith));
  EXPECT_EQ(CheckConservation(state), std::vector<Breach>());
  const JobDump& dump = state.jobs.at(0);
  EXPECT_EQ(dump.chunks.at(1).chunk, NewChunk({{1}, 1}, 4, 4));
  EXPECT_EQ(dump.tries, (std::vector<ItemTry>{{{1}, 5, 1, 0}}));
  EXPECT_EQ(dump.job.memory_bytes, 7);
  EXPECT_FALSE(dump.job.trial);
  EXPECT_EQ(dump.job.image_digest, "");
  // Said again, its submit still means the same job.
  NewJob same = JobOf("k", {.retries = 2, .memory = 7});
  same.spec.retry_wait = JobSpec().retry_wait;
  same.spec.canary = JobSpec().canary;
  EXPECT_EQ(Must(store.CreateJob(same)).id, (JobId{1}));
  EXPECT_EQ(database.Sql("select chunk from item_try"), std::vector<std::string>{"1"});
}

TEST(PostgresStore, ADatabaseThatIsNotThereIsUnavailable) {
  PostgresStore store({SharedDatabase().conninfo() + " port=1", 1});
  EXPECT_EQ(CodeOfFailed(store.FindJob({1})), Code::kUnavailable);
  EXPECT_EQ(CodeOfFailed(store.FindJob({1})), Code::kUnavailable);
}

TEST(PostgresStore, AServerThatCannotWriteIsUnavailable) {
  SharedDatabase().Clean();
  const std::string standby =
      SharedDatabase().conninfo() + " options='-c default_transaction_read_only=on'";
  PostgresStore store({standby, 1});
  EXPECT_EQ(CodeOfFailed(store.ReadChange()), Code::kUnavailable);
  // One that has become so since we connected.
  PostgresStore connected({standby + " target_session_attrs=any", 1});
  Must(connected.ReadChange());
  EXPECT_EQ(CodeOfFailed(connected.Announce()), Code::kUnavailable);
  EXPECT_EQ(CodeOfFailed(connected.CreateJob(JobOf("k"))), Code::kUnavailable);
  const std::unique_ptr<Connection> connection =
      Must(Connection::Open(standby + " target_session_attrs=any"));
  Transaction transaction(*connection);
  transaction.Send(kBumpChange);
  EXPECT_EQ(CodeOfFailed(transaction.Commit()), Code::kUnavailable);
  EXPECT_FALSE(connection->healthy());
}

TEST(PostgresStore, AStatementThatIsTooSlowIsNotRunAgain) {
  const std::unique_ptr<Connection> connection =
      Must(Connection::Open(SharedDatabase().conninfo()));
  Must(connection->Script("set statement_timeout = '10ms'"));
  connection->Send({"sleep", "select pg_sleep(10)::text"});
  EXPECT_EQ(CodeOfFailed(connection->Flush()), Code::kUnavailable);
  EXPECT_FALSE(connection->contended());
  EXPECT_TRUE(connection->healthy());
}

// A sealed job of one chunk with eight items, and a session.
class OneJob : public testing::Test {
 protected:
  OneJob() {
    Must(store_.AddPart(job_, PartOf(0, {8})));
    Must(store_.SealJob(job_, 1));
    NewSession session;
    session.id = session_;
    session.project = "p";
    session.token = kToken;
    session.life = kLong;
    Must(store_.Join(session));
  }
  SyncOrder Asks(const LeaseId& lease) const {
    SyncOrder order;
    order.session = session_;
    order.token = kToken;
    order.life = kOver;
    order.asks.push_back({job_, 4, lease});
    return order;
  }

  PostgresStore store_{{SharedDatabase().conninfo(), 1}};
  const SessionId session_{1, 1};
  const JobId job_ = Cleaned(store_);

 private:
  static JobId Cleaned(Store& store) {
    SharedDatabase().Clean();
    return Must(store.CreateJob(JobOf("k"))).id;
  }
};

TEST_F(OneJob, IsNotDryWhileAnotherTransactionHasItsChunk) {
  const std::unique_ptr<Connection> other = Must(Connection::Open(SharedDatabase().conninfo()));
  Must(other->Script("begin; select 1 from chunk for update"));
  const ExchangeResult result = Must(store_.Run({{Asks({1, 1})}, {}}));
  EXPECT_TRUE(result.syncs[0].grants.empty());
  EXPECT_EQ(result.freed, std::vector<JobId>{job_});
  EXPECT_TRUE(result.dry.empty());
  Must(other->Script("rollback"));
  EXPECT_EQ(Must(store_.Run({{Asks({1, 1})}, {}})).syncs[0].grants.size(), 1u);
}

TEST_F(OneJob, WithABrokenRowIsAnErrorAndNotTheEnd) {
  const LeaseId lease{1, 1};
  Must(store_.Run({{Asks(lease)}, {}}));
  SharedDatabase().Sql("update chunk set leased = B'00000000'");
  SyncOrder settles;
  settles.session = session_;
  settles.token = kToken;
  settles.life = kOver;
  settles.settlements.push_back(Settle(lease, {.ok = Upto(4)}));
  const auto run = store_.Run({{settles}, {}});
  EXPECT_EQ(CodeOfFailed(run), Code::kInternal);
  EXPECT_EQ(run.error().reason, "lease " + ToString(lease) + " does not agree with its chunk");
  EXPECT_EQ(CodeOfFailed(store_.Reap(10)), Code::kInternal);
  Must(store_.CancelJob(job_));
  EXPECT_EQ(CodeOfFailed(store_.SweepJob(job_)), Code::kInternal);
  // As it was: nothing of all that has been applied.
  SharedDatabase().Sql("update chunk set leased = B'11110000'");
  EXPECT_EQ(Must(store_.Run({{settles}, {}})).outcomes, 4);
}

TEST_F(OneJob, WhoseItemsTwoLeasesOweIsAnErrorToo) {
  Must(store_.Run({{Asks({1, 1})}, {}}));
  SharedDatabase().Sql(
      "insert into lease (lease_id, session_id, job_id, chunk, round, mine)"
      " select gen_random_uuid(), session_id, job_id, chunk, round, mine from lease");
  EXPECT_EQ(CodeOfFailed(store_.Reap(10)), Code::kInternal);
}

TEST_F(OneJob, IsCheckedAsLiveUntilItIsOver) {
  Must(store_.Run({{Asks({1, 1})}, {}}));
  EXPECT_TRUE(Must(CheckLiveJobs(store_)).empty());
  SharedDatabase().Sql("update chunk set leased = B'00000000'");
  for (const int state : {0, 1, 2, 3, 4, 5}) {
    SharedDatabase().Sql("update job set state = " + std::to_string(state));
    const bool live = state == 1 || state == 2 || state == 4;
    EXPECT_EQ(!Must(CheckLiveJobs(store_)).empty(), live) << state;
    EXPECT_FALSE(Must(CheckStore(store_)).empty()) << state;
  }
}

TEST_F(OneJob, TheTablesRefuseALeaseWithoutAChunk) {
  Must(store_.Run({{Asks({1, 1})}, {}}));
  EXPECT_ANY_THROW(SharedDatabase().Sql("update lease set chunk = 7"));
}

// Whatever the code does, a row cannot lose or double an item.
TEST(PostgresStore, TheTablesRefuseStatesThatCannotBe) {
  TestDatabase& database = SharedDatabase();
  database.Clean();
  PostgresStore store({database.conninfo(), 1});
  const JobId job = Must(store.CreateJob(JobOf("k"))).id;
  Must(store.AddPart(job, PartOf(0, {2})));
  EXPECT_ANY_THROW(database.Sql("update chunk set done = B'01', leased = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set parked = B'01', leased = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set resting = B'01', leased = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set resting = B'01', done = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set resting = B'01', parked = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set failed = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set lost1 = B'01', suspect = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set done = B'011'"));
}

}  // namespace tidemill
