// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include "base/result.h"
#include "store/postgres/values.h"

namespace tidemill {

// A statement that is prepared once a connection. `name` is unique in the program.
struct Statement {
  const char* name;
  const char* sql;
};

// One connection to PostgreSQL. Statements are queued and sent together, so that a transaction
// costs as many round trips as it has answers to wait for. One thread at a time.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> Open(const std::string& conninfo);

  // Adds a statement to what the next Flush sends. The answer of a `quiet` one is not handed out.
  void Send(const Statement& statement, const Params& params = {}, bool quiet = false);
  // Sends what is queued and waits for all answers. The first error ends it, and what follows that
  // statement was not carried out. kUnavailable: it did not happen. kUnknown: the connection broke,
  // it may have happened.
  Result<std::vector<Rows>> Flush();
  // SQL without parameters, of several statements perhaps (migrations).
  Result<void> Script(const std::string& sql);

  // After false the connection is of no more use.
  bool healthy() const { return healthy_ && !standby_; }
  // What was under way when it ended may have happened.
  bool broken() const { return !healthy_; }
  // Whether the last error was another transaction in the way: the same again may well succeed.
  bool contended() const { return contended_; }

 private:
  explicit Connection(PGconn* connection) : connection_(connection, &PQfinish) {}
  // What the answers to come belong to.
  struct Queued {
    const char* prepares = nullptr;  // the name of the statement, if this is its preparation
    bool quiet = false;              // hands out nothing
  };
  Error Broken();
  Error ErrorOf(const PGresult* result);
  bool WaitUntilSent();
  bool WaitForAnswer();
  // The next answer; null after the last of a statement.
  Result<PGresult*> Next();
  Result<void> Collect(const Queued& queued, std::vector<Rows>& answers);
  bool IsPrepared(std::string_view name) const;
  bool Poll(short events) const;

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  std::set<std::string_view> prepared_;
  std::vector<Queued> queue_;
  bool healthy_ = true;
  bool standby_ = false;  // it answers, but cannot write
  bool contended_ = false;
};

// One transaction. It begins with the first Flush and ends with Commit; if it is dropped before, it
// is rolled back.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void Send(const Statement& statement, const Params& params = {});
  // The same of a statement whose answer nobody needs: it is not among those of the next Flush.
  void Tell(const Statement& statement, const Params& params);
  Result<std::vector<Rows>> Flush();
  // Sends what is queued together with the COMMIT.
  Result<std::vector<Rows>> Commit();
  // One statement, at once.
  Result<Rows> One(const Statement& statement, const Params& params = {});
  // Reads only, all as of one moment.
  void ReadOnly() { read_only_ = true; }

 private:
  void Begin();

  Connection& connection_;
  bool begun_ = false;
  bool read_only_ = false;
};

}  // namespace tidemill
