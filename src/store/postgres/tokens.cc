// SPDX-License-Identifier: Apache-2.0
// The tokens of people and pools.
#include "model/token.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"

namespace tidemill {

#define TIDEMILL_TOKEN_COLUMNS                                                  \
  "t.token_id, t.kind, t.name, t.project, t.role, t.pool, t.uses_left is null," \
  " coalesce(t.uses_left, 0), t.made_by, t.created_at, t.expires_at,"           \
  " coalesce(t.used_at, 'epoch'), coalesce(t.revoked_at, 'epoch')"

#define TIDEMILL_CALLER_COLUMNS                                             \
  "t.token_id, t.name, t.project, t.role, coalesce(p.calls_per_second, 0)," \
  " coalesce(p.items_max, 0), coalesce(p.log_bytes, 0),"                    \
  " coalesce(t.used_at, 'epoch') < clock_timestamp() - interval '1 minute'"

// Every call of a person begins with one of these.
const Statement kFindCaller{
    "find_caller",
    "select " TIDEMILL_CALLER_COLUMNS
    " from token t left join project p on p.name = t.project where t.hash = $1 and t.kind = 0"
    " and t.revoked_at is null and t.expires_at > clock_timestamp()"};
const Statement kFindBrowser{
    "find_browser", "select " TIDEMILL_CALLER_COLUMNS
                    " from browser b join token t on t.token_id = b.token_id"
                    " left join project p on p.name = t.project where b.hash = $1"
                    " and b.expires_at > clock_timestamp() and t.kind = 0 and t.revoked_at is null"
                    " and t.expires_at > clock_timestamp()"};

namespace {

Token ReadToken(Row& row) {
  Token token;
  token.id = row.Uuid<TokenId>();
  token.kind = static_cast<TokenKind>(row.Small());
  token.name = row.Text();
  token.project = row.Text();
  token.role = static_cast<Role>(row.Small());
  token.pool = row.Text();
  const bool any_number = row.Flag();
  const std::int32_t uses_left = row.Int();
  if (!any_number) token.uses_left = uses_left;
  token.made_by = row.Text();
  token.created_ms = row.Time() / 1000;
  token.expires_ms = row.Time() / 1000;
  token.used_ms = row.Time() / 1000;
  token.revoked_ms = row.Time() / 1000;
  return token;
}

const Statement kCreateToken{
    "create_token",
    "insert into token (token_id, kind, hash, name, project, role, pool, uses_left, made_by,"
    " expires_at) select $1, $2, $3, $4, $5, $6, $7, nullif($8, -1), $9,"
    " clock_timestamp() + $10 * interval '1 us'"
    " where ($5 = '' or exists (select 1 from project where name = $5))"
    " and ($2 <> 1 or exists (select 1 from pool o where o.project = $5 and o.name = $7))"
    " on conflict (token_id) do nothing"};
const Statement kReadToken{"read_token",
                           "select " TIDEMILL_TOKEN_COLUMNS " from token t where t.token_id = $1"};
const Statement kListTokens{"list_tokens",
                            "select " TIDEMILL_TOKEN_COLUMNS
                            " from token t where t.token_id > $1 and ($2 = '' or t.project = $2)"
                            " order by t.token_id limit $3"};
const Statement kRevokeToken{
    "revoke_token",
    "update token t set revoked_at = coalesce(t.revoked_at, clock_timestamp())"
    " where t.token_id = $1 and ($2 = '' or t.project = $2)"
    " returning " TIDEMILL_TOKEN_COLUMNS};
const Statement kTouchToken{"touch_token",
                            "update token set used_at = clock_timestamp() where token_id = $1"};
const Statement kOpenBrowser{
    "open_browser",
    "insert into browser (hash, token_id, expires_at)"
    " values ($1, $2, clock_timestamp() + $3 * interval '1 us') on conflict (hash) do nothing"};
const Statement kCloseBrowser{"close_browser", "delete from browser where hash = $1"};

const Statement kLockJoinToken{
    "lock_join_token", "select " TIDEMILL_TOKEN_COLUMNS
                       " from token t where t.hash = $1 and t.kind = 1 and t.revoked_at is null"
                       " and t.expires_at > clock_timestamp() for no key update"};
const Statement kReadJoinUse{"read_join_use",
                             "select 1 from join_use where token_id = $1 and session_id = $2"};
const Statement kAddJoinUse{"add_join_use",
                            "insert into join_use (token_id, session_id) values ($1, $2)"};
const Statement kCountJoinUse{"count_join_use",
                              "update token set uses_left = uses_left - 1,"
                              " used_at = clock_timestamp() where token_id = $1"};
const Statement kPoolOfToken{"pool_of_token", "select " TIDEMILL_POOL_COLUMNS
                                              " from pool o where o.project = $1 and o.name = $2"};

}  // namespace

Result<Token> PostgresStore::CreateToken(const NewToken& token) {
  return Transact<Token>([&](Transaction& transaction) -> Result<Token> {
    transaction.Send(kCreateToken, Params()
                                       .Uuid(token.id)
                                       .Int(static_cast<int>(token.kind))
                                       .Bytes(HashToken(token.secret))
                                       .Text(token.name)
                                       .Text(token.project)
                                       .Int(static_cast<int>(token.role))
                                       .Text(token.pool)
                                       .Int(token.uses.value_or(-1))
                                       .Text(token.made_by)
                                       .Big(token.life.count()));
    transaction.Send(kReadToken, Params().Uuid(token.id));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    if (!answers[1].empty()) return ReadFirst(answers[1], ReadToken);
    if (token.kind == TokenKind::kJoin) return NoSuchPool(token.pool);
    return NoSuchProject(token.project);
  });
}

Result<std::vector<Token>> PostgresStore::ListTokens(const TokenFilter& filter) {
  TIDEMILL_TRY(
      const Rows rows,
      Query(kListTokens, Params().Uuid(filter.after).Text(filter.project).Int(filter.limit)));
  return ReadAll(rows, ReadToken);
}

Result<Token> PostgresStore::RevokeToken(const std::string& project, TokenId id) {
  TIDEMILL_TRY(const Rows rows, Query(kRevokeToken, Params().Uuid(id).Text(project)));
  if (rows.empty()) return NoSuchToken();
  return ReadFirst(rows, ReadToken);
}

Result<Caller> PostgresStore::FindCaller(const std::string& secret) {
  const bool cookie = secret.starts_with(kBrowserPrefix);
  TIDEMILL_TRY(const Rows rows,
               Query(cookie ? kFindBrowser : kFindCaller, Params().Bytes(HashToken(secret))));
  if (rows.empty()) return NotSignedIn();
  Row row = rows[0];
  Caller caller;
  caller.token = row.Uuid<TokenId>();
  caller.name = row.Text();
  caller.project = row.Text();
  caller.role = static_cast<Role>(row.Small());
  const std::int32_t calls = row.Int();
  const std::int64_t items = row.Big();
  const std::int64_t log_bytes = row.Big();
  if (!caller.project.empty()) caller.limits = {calls, items, log_bytes};
  // To the minute: most calls only read.
  if (row.Flag()) TIDEMILL_TRY_VOID(Query(kTouchToken, Params().Uuid(caller.token)));
  return caller;
}

Result<void> PostgresStore::OpenBrowser(TokenId token, const std::string& cookie, Duration life) {
  TIDEMILL_TRY(
      const Rows rows,
      Query(kOpenBrowser, Params().Bytes(HashToken(cookie)).Uuid(token).Big(life.count())));
  return {};
}

Result<void> PostgresStore::CloseBrowser(const std::string& cookie) {
  TIDEMILL_TRY(const Rows rows, Query(kCloseBrowser, Params().Bytes(HashToken(cookie))));
  return {};
}

Result<JoinPlace> PostgresStore::UseJoinToken(const std::string& secret, SessionId session) {
  return Transact<JoinPlace>([&](Transaction& transaction) -> Result<JoinPlace> {
    TIDEMILL_TRY(const Rows rows,
                 transaction.One(kLockJoinToken, Params().Bytes(HashToken(secret))));
    if (rows.empty()) return NotAJoinToken();
    JoinPlace place;
    place.token = ReadFirst(rows, ReadToken);
    const Params use = Params().Uuid(place.token.id).Uuid(session);
    transaction.Send(kReadJoinUse, use);
    transaction.Send(kPoolOfToken, Params().Text(place.token.project).Text(place.token.pool));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
    if (answers[1].empty()) return NotAJoinToken();  // the pool went just now
    place.pool = ReadFirst(answers[1], ReadPool);
    if (answers[0].empty()) {
      if (place.token.uses_left == 0) return NotAJoinToken();
      if (place.token.uses_left) --*place.token.uses_left;
      transaction.Send(kAddJoinUse, use);
      transaction.Send(kCountJoinUse, Params().Uuid(place.token.id));
    }
    TIDEMILL_TRY(const auto committed, transaction.Commit());
    return place;
  });
}

}  // namespace tidemill
