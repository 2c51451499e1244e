// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/postgres_store.h"

#include <gtest/gtest.h>

#include "store/postgres/migrations.h"
#include "store/postgres/test_database.h"
#include "store/store_contract.h"

namespace tidemill {
namespace {

class PostgresHolder : public StoreHolder {
 public:
  PostgresHolder() { SharedDatabase().Clean(); }
  Store& store() override { return store_; }

 private:
  PostgresStore store_{{SharedDatabase().conninfo(), 2}};
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Postgres, StoreTest, testing::Values(StoreMaker([] {
                           return std::make_unique<PostgresHolder>();
                         })));

TEST(PostgresStore, MigratesOnce) {
  TestDatabase database;
  PostgresStore store({database.conninfo(), 1});
  EXPECT_EQ(Must(store.Migrate()), 0);
  EXPECT_EQ(database.Sql("select count(*) from migration"),
            std::vector<std::string>{std::to_string(kMigrationCount)});
}

TEST(PostgresStore, ADatabaseThatIsNotThereIsUnavailable) {
  PostgresStore store({SharedDatabase().conninfo() + " port=1", 1});
  EXPECT_EQ(CodeOfFailed(store.FindJob({1})), Code::kUnavailable);
  EXPECT_EQ(CodeOfFailed(store.FindJob({1})), Code::kUnavailable);
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
  EXPECT_ANY_THROW(database.Sql("update chunk set failed = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set lost1 = B'01', suspect = B'01'"));
  EXPECT_ANY_THROW(database.Sql("update chunk set done = B'011'"));
}

}  // namespace tidemill
