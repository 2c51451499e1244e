// SPDX-License-Identifier: Apache-2.0
// The third step of an exchange: what becomes of items that failed, or had failed before.
#include "store/postgres/exchange.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"

namespace tidemill {

// Their chunks are locked, and with them these rows.
const Statement kTriesToSettle{"tries_to_settle",
                               "select " TIDEMILL_TRY_COLUMNS
                               ", t.chunk, t.blamed_on from unnest($1, $2) k (job, item)"
                               " join item_try t on t.job_id = k.job and t.item = k.item"};
// A hint: of a session that somebody else has just now the count is lost. Waiting for it here would
// be against the order of locks.
const Statement kBlame{
    "blame",
    "with l as (select session_id from agent_session where session_id = any ($1) and state < 2"
    " for no key update skip locked)"
    " update agent_session a set blamed = a.blamed + k.times from l, unnest($1, $2) k (id, times)"
    " where a.session_id = l.session_id and k.id = l.session_id"};

namespace {

// All wait from one moment on. In order, as all locks are.
const Statement kWriteTries{
    "write_tries",
    "insert into item_try as t (job_id, item, chunk, attempts, lost, memory_bytes, steps, "
    "blamed_on,"
    " due_at) select k.job, k.item, k.chunk, k.attempts, k.lost, k.memory_bytes, k.steps,"
    " k.blamed_on, case when k.wait_us >= 0 then"
    "  (select clock_timestamp()) + k.wait_us * interval '1 us' end"
    " from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)"
    " k (job, item, chunk, attempts, lost, memory_bytes, steps, blamed_on, wait_us)"
    " order by k.job, k.item"
    " on conflict (job_id, item) do update set attempts = excluded.attempts,"
    " memory_bytes = excluded.memory_bytes, steps = excluded.steps,"
    " blamed_on = excluded.blamed_on, due_at = excluded.due_at"};
const Statement kJobRules{"job_rules",
                          "select job_id, retries, retry_wait_ms, memory_bytes, memory_max from job"
                          " where job_id = any ($1)"};

}  // namespace

Result<void> ExchangeRun::CountTries() {
  std::set<JobId> jobs;
  std::vector<std::int64_t> item_jobs, items;
  for (const Plan& plan : plans_) {
    const Lease& lease = leases_.at(plan.lease);
    const Chunk& chunk = chunks_.at(lease.chunk);
    const Bits about = lease.tried ? plan.masks.all() : plan.masks.failed | plan.masks.memory;
    for (const int offset : about.Indexes()) {
      jobs.insert(chunk.key.job);
      item_jobs.push_back(chunk.key.job.number);
      items.push_back(chunk.first_item + offset);
    }
  }
  if (items.empty()) return {};
  std::vector<std::int64_t> numbers;
  for (const JobId job : jobs) numbers.push_back(job.number);
  transaction_.Send(kJobRules, Params().Bigs(numbers));
  transaction_.Send(kTriesToSettle, Params().Bigs(item_jobs).Bigs(items));
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
  std::map<JobId, RetryRules> rules;
  for (int i = 0; i < answers[0].size(); ++i) {
    Row row = answers[0][i];
    RetryRules& rule = rules[JobId{row.Big()}];
    rule.retries = row.Int();
    rule.wait = std::chrono::milliseconds(row.Big());
    rule.memory_bytes = row.Big();
    rule.memory_max = row.Big();
  }
  for (int i = 0; i < answers[1].size(); ++i) {
    Row row = answers[1][i];
    const ItemTry counts = ReadTry(row);
    TryRow& stored = tries_[{counts.job, counts.item}];
    stored.counts = counts;
    stored.chunk = row.Int();
    stored.blamed = row.Uuid<SessionId>();
  }
  for (Plan& plan : plans_) CountPlan(plan, rules[leases_.at(plan.lease).chunk.job]);
  TellTries();
  return {};
}

void ExchangeRun::CountPlan(Plan& plan, const RetryRules& rules) {
  const Lease& lease = leases_.at(plan.lease);
  const Chunk& chunk = chunks_.at(lease.chunk);
  for (const int offset : plan.masks.failed.Indexes()) {
    const bool final = plan.masks.final.Get(offset);
    Rest(plan, chunk, offset, CountFailure(TryOf(chunk, offset), rules, lease, final));
  }
  for (const int offset : plan.masks.memory.Indexes()) {
    Rest(plan, chunk, offset, CountOutOfMemory(TryOf(chunk, offset), rules, lease));
  }
  if (!lease.tried) return;
  for (const int offset : plan.masks.back.Indexes()) {
    TryOf(chunk, offset);
    Rest(plan, chunk, offset, Duration::zero());
  }
  for (const int offset : plan.masks.ok.Indexes()) {
    const SessionId blamed = BlamedBy(TryOf(chunk, offset), lease);
    if (blamed != SessionId{}) ++blamed_[blamed];
  }
}

void ExchangeRun::Rest(Plan& plan, const Chunk& chunk, int offset, std::optional<Duration> wait) {
  rests_[{chunk.key.job, chunk.first_item + offset}] = wait;
  if (!wait) plan.exhausted.Set(offset);
  if (wait == Duration::zero()) freed_.insert(chunk.key.job);
}

// Sent with whatever comes next, so that what is due at once is found by this exchange too.
void ExchangeRun::TellTries() {
  std::vector<std::int64_t> jobs, items, memory, waits;
  std::vector<std::int32_t> chunks, attempts, lost, steps;
  std::vector<SessionId> blamed;
  for (const auto& [key, wait] : rests_) {
    const TryRow& row = tries_.at(key);
    jobs.push_back(row.counts.job.number);
    items.push_back(row.counts.item);
    chunks.push_back(row.chunk);
    attempts.push_back(row.counts.attempts);
    lost.push_back(row.counts.lost);
    memory.push_back(row.counts.memory_bytes);
    steps.push_back(row.counts.steps);
    blamed.push_back(row.blamed);
    waits.push_back(wait ? wait->count() : -1);
  }
  if (!items.empty()) {
    Params params = Params().Bigs(jobs).Bigs(items).Ints(chunks).Ints(attempts).Ints(lost);
    transaction_.Tell(kWriteTries, params.Bigs(memory).Ints(steps).Uuids(blamed).Bigs(waits));
  }
  std::vector<SessionId> sessions;
  std::vector<std::int64_t> times;
  for (const auto& [session, count] : blamed_) {
    sessions.push_back(session);
    times.push_back(count);
  }
  if (!sessions.empty()) transaction_.Tell(kBlame, Params().Uuids(sessions).Bigs(times));
}

}  // namespace tidemill
