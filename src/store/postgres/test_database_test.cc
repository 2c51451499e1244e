// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/test_database.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>

namespace tidemill {
namespace {

std::string ClusterConninfo() {
  const char* conninfo = std::getenv("TIDEMILL_TEST_PG");
  if (conninfo == nullptr) {
    throw std::runtime_error("TIDEMILL_TEST_PG is not set; run under tools/with_postgres.py");
  }
  return conninfo;
}

std::vector<std::string> Execute(PGconn* connection, const std::string& sql) {
  const Rows rows(PQexec(connection, sql.c_str()));
  const ExecStatusType status = PQresultStatus(rows.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(sql + ": " + PQerrorMessage(connection));
  }
  std::vector<std::string> cells;
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    for (int column = 0; column < PQnfields(rows.get()); ++column) {
      cells.emplace_back(PQgetvalue(rows.get(), row, column));
    }
  }
  return cells;
}

// In a connection of its own.
void ExecuteOnce(const std::string& conninfo, const std::string& sql) {
  const TestDatabase::Connection connection(PQconnectdb(conninfo.c_str()), &PQfinish);
  Execute(connection.get(), sql);
}

// Behind PostgreSQL's own: found first by its name, because of the search path.
constexpr const char* kStillClock =
    "create table test_clock (at timestamptz not null); insert into test_clock values "
    "('2023-11-14');"
    " create function public.clock_timestamp() returns timestamptz language sql volatile"
    " as 'select at from test_clock'";

std::optional<TestDatabase>& Shared() {
  static std::optional<TestDatabase> shared;
  return shared;
}

std::optional<TestDatabase>& Still() {
  static std::optional<TestDatabase> still;
  return still;
}

// Drops it while the cluster is still there to be asked.
class DropShared : public testing::Environment {
 public:
  void TearDown() override {
    Shared().reset();
    Still().reset();
  }
};
const testing::Environment* const kDropShared =
    testing::AddGlobalTestEnvironment(new DropShared);  // gtest owns it

}  // namespace

TestDatabase::TestDatabase(Clock clock) {
  SystemRandom random;
  name_ = "t_" + std::to_string(getpid()) + "_" + std::to_string(random.Next());
  ExecuteOnce(ClusterConninfo(), "create database " + name_);
  ExecuteOnce(ClusterConninfo(), "alter database " + name_ + " set synchronous_commit = off");
  conninfo_ = ClusterConninfo() + " dbname=" + name_;
  if (clock == Clock::kStill) {
    ExecuteOnce(conninfo_, kStillClock);
    ExecuteOnce(conninfo_, "alter database " + name_ + " set search_path = public, pg_catalog");
  }
  Must(PostgresStore({conninfo_, 1}).Migrate());
}

TestDatabase::~TestDatabase() {
  ExecuteOnce(ClusterConninfo(), "drop database if exists " + name_ + " with (force)");
}

void TestDatabase::Clean() {
  Sql("delete from report; delete from lease; delete from agent_session; delete from job;"
      " delete from token; delete from secret; delete from audit; delete from kept_spec;"
      " delete from queue;"
      " delete from pool; delete from project where name <> 'default';"
      " insert into pool (project, name) values ('default', 'default');"
      " delete from plan; delete from spend;"
      " update leader set epoch = 0, holder = '', until = 'epoch', plan_seq = 0;"
      " update change set seq = 0; alter table job alter column job_id restart with 1");
}

std::vector<std::string> TestDatabase::Sql(const std::string& sql) {
  if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK) {
    connection_.reset(PQconnectdb(conninfo_.c_str()));
  }
  return Execute(connection_.get(), sql);
}

void TestDatabase::SetClock(std::int64_t now_us) {
  Sql("update test_clock set at = timestamptz 'epoch' + " + std::to_string(now_us) +
      " * interval '1 us'");
}

TestDatabase& StillDatabase() {
  if (!Still()) Still().emplace(TestDatabase::Clock::kStill);
  return *Still();
}

TestDatabase& SharedDatabase() {
  if (!Shared()) Shared().emplace();
  return *Shared();
}

TEST(TestDatabase, HasAClockThatStandsStillIfItIsToldSo) {
  StillDatabase().SetClock(1'700'000'000'000'001);
  PostgresStore store({StillDatabase().conninfo(), 1});
  EXPECT_EQ(Must(store.ReadChange()).clock_us, 1'700'000'000'000'001);
  EXPECT_EQ(Must(store.ReadChange()).clock_us, 1'700'000'000'000'001);
}

TEST(TestDatabase, HasOurTablesAndIsEmptyAfterCleaning) {
  TestDatabase& database = SharedDatabase();
  database.Sql("insert into agent_session values (gen_random_uuid(), '', '', 0, 0, 0, now())");
  database.Clean();
  EXPECT_EQ(database.Sql("select count(*) from agent_session"), std::vector<std::string>{"0"});
}

}  // namespace tidemill
