// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/postgres_store.h"

#include "store/postgres/migrations.h"

namespace tidemill {
namespace {

// Any constant that no other program uses on this database.
constexpr Statement kLockMigrations{"lock_migrations",
                                    "select pg_advisory_xact_lock(7423516600)::text"};
constexpr Statement kLastMigration{"last_migration",
                                   "select coalesce(max(number), 0) from migration"};
constexpr Statement kNoteMigration{"note_migration",
                                   "insert into migration (number, name) values ($1, $2)"};
constexpr const char* kMigrationTable =
    "create table if not exists migration (number int primary key, name text not null,"
    " applied_at timestamptz not null default clock_timestamp())";

}  // namespace

Result<std::unique_ptr<Connection>> PostgresStore::Borrow() {
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return borrowed_ < options_.connections; });
    ++borrowed_;
    if (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  auto opened = Connection::Open(options_.conninfo);
  if (!opened) GiveBack(nullptr);
  return opened;
}

void PostgresStore::GiveBack(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    --borrowed_;
    if (connection != nullptr && connection->healthy()) {
      idle_.push_back(std::move(connection));
    } else {
      // One broken connection means that the others broke with it, as a rule.
      idle_.clear();
    }
  }
  returned_.notify_one();
}

Result<Rows> PostgresStore::Query(const Statement& statement, const Params& params) {
  for (int tries = 1;; ++tries) {
    TIDEMILL_TRY(std::unique_ptr<Connection> connection, Borrow());
    connection->Send(statement, params);
    auto answers = connection->Flush();
    const bool again = !answers && connection->contended() && tries < kTransactionTries;
    GiveBack(std::move(connection));
    if (answers) return std::move(answers->front());
    if (!again) return tl::unexpected(answers.error());
  }
}

Result<int> PostgresStore::Migrate() {
  TIDEMILL_TRY(std::unique_ptr<Connection> connection, Connection::Open(options_.conninfo));
  // Building an index may take long; nothing else runs on this connection.
  TIDEMILL_TRY_VOID(connection->Script("set statement_timeout = 0; set lock_timeout = 0"));
  // Two servers that make the table at once would clash.
  TIDEMILL_TRY_VOID(connection->Script("begin; select pg_advisory_xact_lock(7423516600); " +
                                       std::string(kMigrationTable) + "; commit"));
  int applied = 0;
  for (int i = 0; i < kMigrationCount; ++i) {
    const Migration& migration = kMigrations[i];
    Transaction transaction(*connection);
    TIDEMILL_TRY(Rows lock, transaction.One(kLockMigrations));
    TIDEMILL_TRY(Rows last, transaction.One(kLastMigration));
    if (last[0].Int() >= migration.number) continue;
    auto done = connection->Script(migration.sql);
    if (!done) return While("migration " + std::string(migration.name), done.error());
    transaction.Send(kNoteMigration, Params().Int(migration.number).Text(migration.name));
    TIDEMILL_TRY(auto noted, transaction.Commit());
    ++applied;
  }
  return applied;
}

}  // namespace tidemill
