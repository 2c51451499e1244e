// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"

namespace tidemill {
namespace {

// Silence for longer than the server's own statement_timeout: it has stopped answering.
constexpr std::chrono::milliseconds kSilenceMax{45'000};

constexpr Statement kBegin{"begin", "begin"};
constexpr Statement kBeginRead{"begin_read", "begin isolation level repeatable read read only"};
constexpr Statement kCommit{"commit", "commit"};
constexpr Statement kRollback{"rollback", "rollback"};

// Every statement goes by index and its plan does not depend on the parameters: planning again, or
// a look through a whole table because it was small a minute ago, would only cost. The limits bound
// what one call can hold up. A server that is gone shows as a broken connection, not as a silence.
constexpr const char* kSettings =
    "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off;"
    "set enable_mergejoin = off; set jit = off; set timezone = 'UTC';"
    "set statement_timeout = '30s'; set lock_timeout = '5s';"
    "set idle_in_transaction_session_timeout = '10s'; set client_min_messages = warning";

bool StartsWith(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Serialization failure, deadlock, lock not available. Not a statement's timeout: what was too slow
// once must not be run five times.
bool IsContention(std::string_view state) {
  return state == "40001" || state == "40P01" || state == "55P03";
}

// Read-only transaction: the server has become a standby, or always was one.
bool IsStandby(std::string_view state) { return state == "25006"; }

Code CodeOf(std::string_view state) {
  // No resources (a full disk too), an operator's shutdown or a timeout, or a connection that is
  // refused.
  const bool down = StartsWith(state, "53") || StartsWith(state, "57P") || state == "57014" ||
                    StartsWith(state, "08");
  return down || IsStandby(state) || IsContention(state) ? Code::kUnavailable : Code::kInternal;
}

std::string Trimmed(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::Open(const std::string& conninfo) {
  // `dbname` may be a whole conninfo or URI; what stands in it wins over what comes before it.
  // Of several hosts only the one that can write is of use.
  constexpr std::array<const char*, 7> kNames = {"connect_timeout",
                                                 "keepalives_idle",
                                                 "tcp_user_timeout",
                                                 "application_name",
                                                 "target_session_attrs",
                                                 "dbname",
                                                 nullptr};
  const std::array<const char*, 7> values = {
      "5", "10", "15000", "tidemill", "read-write", conninfo.c_str(), nullptr};
  PGconn* raw = PQconnectdbParams(kNames.data(), values.data(), 1);
  std::unique_ptr<Connection> connection(new Connection(raw));
  if (PQstatus(raw) != CONNECTION_OK) {
    return Fail(Code::kUnavailable, "connect to PostgreSQL: " + Trimmed(PQerrorMessage(raw)));
  }
  if (PQserverVersion(raw) < 150000) {
    return Fail(Code::kInvalid, "PostgreSQL 15 or newer is needed");
  }
  TIDEMILL_TRY_VOID(connection->Script(kSettings));
  PQsetnonblocking(raw, 1);
  if (PQenterPipelineMode(raw) != 1) return tl::unexpected(connection->Broken());
  return connection;
}

Result<void> Connection::Script(const std::string& sql) {
  const bool pipeline = PQpipelineStatus(connection_.get()) != PQ_PIPELINE_OFF;
  if (pipeline && PQexitPipelineMode(connection_.get()) != 1) return tl::unexpected(Broken());
  const Rows rows(PQexec(connection_.get(), sql.c_str()));
  if (pipeline && PQenterPipelineMode(connection_.get()) != 1) return tl::unexpected(Broken());
  const ExecStatusType status = PQresultStatus(rows.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return {};
  return tl::unexpected(ErrorOf(rows.get()));
}

bool Connection::IsPrepared(std::string_view name) const {
  if (prepared_.contains(name)) return true;
  return std::any_of(queue_.begin(), queue_.end(), [name](const Queued& queued) {
    return queued.prepares != nullptr && name == queued.prepares;
  });
}

void Connection::Send(const Statement& statement, const Params& params, bool quiet) {
  PGconn* raw = connection_.get();
  if (!IsPrepared(statement.name)) {
    queue_.push_back({statement.name, true});
    if (PQsendPrepare(raw, statement.name, statement.sql, params.count(), params.types()) != 1) {
      healthy_ = false;
    }
  }
  const std::vector<const char*> values = params.Values();
  const std::vector<int> binary(values.size(), 1);
  queue_.push_back({nullptr, quiet});
  if (PQsendQueryPrepared(raw, statement.name, params.count(), values.data(), params.Lengths(),
                          binary.data(), 1) != 1) {
    healthy_ = false;
  }
}

Error Connection::Broken() {
  healthy_ = false;
  return {Code::kUnknown, "PostgreSQL: " + Trimmed(PQerrorMessage(connection_.get()))};
}

Error Connection::ErrorOf(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state == nullptr) {
    return {Code::kUnknown, "PostgreSQL: " + Trimmed(PQerrorMessage(connection_.get()))};
  }
  contended_ = IsContention(state);
  if (IsStandby(state)) standby_ = true;
  return {CodeOf(state), std::string("PostgreSQL ") + state + ": " +
                             Trimmed(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY))};
}

bool Connection::Poll(short events) const {
  while (true) {
    pollfd poll_fd{PQsocket(connection_.get()), events, 0};
    const int ready = poll(&poll_fd, 1, static_cast<int>(kSilenceMax.count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool Connection::WaitUntilSent() {
  while (true) {
    const int rest = PQflush(connection_.get());
    if (rest <= 0) return rest == 0;
    // The server may be blocked on answers that nobody reads: make room while there is something.
    if (!Poll(POLLIN | POLLOUT)) return false;
    if (PQconsumeInput(connection_.get()) != 1) return false;
  }
}

bool Connection::WaitForAnswer() {
  while (PQisBusy(connection_.get()) != 0) {
    if (!Poll(POLLIN)) return false;
    if (PQconsumeInput(connection_.get()) != 1) return false;
  }
  return true;
}

Result<PGresult*> Connection::Next() {
  if (!WaitForAnswer()) return tl::unexpected(Broken());
  return PQgetResult(connection_.get());
}

Result<void> Connection::Collect(const Queued& queued, std::vector<Rows>& answers) {
  TIDEMILL_TRY(PGresult * raw, Next());
  if (raw == nullptr) return tl::unexpected(Broken());
  Rows rows(raw);
  TIDEMILL_TRY(PGresult * end, Next());
  if (end != nullptr) {
    PQclear(end);
    return tl::unexpected(Broken());
  }
  switch (PQresultStatus(rows.get())) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
      if (queued.prepares != nullptr) prepared_.insert(queued.prepares);
      if (!queued.quiet) answers.push_back(std::move(rows));
      return {};
    case PGRES_PIPELINE_ABORTED:
      return Fail(Code::kInternal, "not carried out: a statement before it failed");
    default:
      if (PQstatus(connection_.get()) != CONNECTION_OK) healthy_ = false;
      return tl::unexpected(ErrorOf(rows.get()));
  }
}

Result<std::vector<Rows>> Connection::Flush() {
  const std::vector<Queued> queue = std::exchange(queue_, {});
  contended_ = false;
  if (!healthy_ || PQpipelineSync(connection_.get()) != 1 || !WaitUntilSent()) {
    return tl::unexpected(Broken());
  }
  std::vector<Rows> answers;
  std::optional<Error> first_error;
  for (const Queued& queued : queue) {
    Result<void> collected = Collect(queued, answers);
    if (!collected && !first_error) first_error = std::move(collected).error();
    if (!healthy_) return tl::unexpected(*first_error);
  }
  TIDEMILL_TRY(PGresult * raw, Next());
  const Rows sync(raw);
  if (raw == nullptr || PQresultStatus(raw) != PGRES_PIPELINE_SYNC) return tl::unexpected(Broken());
  if (first_error) return tl::unexpected(*first_error);
  return answers;
}

Transaction::~Transaction() {
  if (!begun_ || !connection_.healthy()) return;
  connection_.Send(kRollback, {}, true);
  (void)connection_.Flush();
}

void Transaction::Begin() {
  if (std::exchange(begun_, true)) return;
  connection_.Send(read_only_ ? kBeginRead : kBegin, {}, true);
}

void Transaction::Send(const Statement& statement, const Params& params) {
  Begin();
  connection_.Send(statement, params);
}

void Transaction::Tell(const Statement& statement, const Params& params) {
  Begin();
  connection_.Send(statement, params, true);
}

Result<std::vector<Rows>> Transaction::Flush() {
  auto answers = connection_.Flush();
  // The transaction was still open, so whatever broke, nothing has happened.
  if (!answers && !connection_.healthy()) {
    return Fail(Code::kUnavailable, answers.error().reason);
  }
  return answers;
}

Result<std::vector<Rows>> Transaction::Commit() {
  Begin();
  connection_.Send(kCommit, {}, true);
  auto answers = connection_.Flush();
  if (answers) begun_ = false;
  // The end of the connection says nothing about the COMMIT that was on its way.
  if (!answers && connection_.broken()) return Fail(Code::kUnknown, answers.error().reason);
  return answers;
}

Result<Rows> Transaction::One(const Statement& statement, const Params& params) {
  Send(statement, params);
  TIDEMILL_TRY(std::vector<Rows> answers, Flush());
  return std::move(answers.front());
}

}  // namespace tidemill
