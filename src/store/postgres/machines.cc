// SPDX-License-Identifier: Apache-2.0
// Machines from their order to their end.
#include <utility>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"

namespace tidemill {
namespace {

// Leaders see to the machines one after the other: none waits for another in a circle.
const Statement kOneLeader{"one_leader", "select 1 from leader for update"};

// Names have no line ends, so a list of them goes as one text.
#define TIDEMILL_SEEN                                                                \
  " (select r.project, r.pool, r.number, r.ended_us, coalesce(r.id, '') id,"         \
  " 'epoch'::timestamptz + r.since_us * interval '1 us' since,"                      \
  " 'epoch'::timestamptz + r.ended_us * interval '1 us' ended"                       \
  " from unnest(string_to_array($1, E'\n'), string_to_array($2, E'\n'), $3, $4, $5," \
  " string_to_array($6, E'\n')) r (project, pool, number, since_us, ended_us, id)) k"
// One that its provider has was made, also if it has joined or ended since.
const Statement kSeeMade{
    "see_made",
    "update machine m set billed_from = k.since, put_down_until = k.since,"
    " since = case when m.state = 0 then clock_timestamp() else m.since end,"
    " state = greatest(m.state, 1::smallint) from" TIDEMILL_SEEN
    " where m.project = k.project and m.pool = k.pool and m.number = k.number and m.ordered"
    " and m.state < 4 and m.billed_from = 'epoch'"};
const Statement kSeeIds{
    "see_ids",
    "update machine m set provider_id = k.id from" TIDEMILL_SEEN
    " where m.project = k.project and m.pool = k.pool and m.number = k.number and m.ordered"
    " and m.state < 4 and k.id <> '' and m.provider_id <> k.id"};
const Statement kFindMachineById{"find_machine_by_id",
                                 "select name from machine where project = $1 and pool = $2"
                                 " and provider_id = $3 and provider_id <> '' and state < 4"
                                 " order by number limit 1"};
#define TIDEMILL_COUNT_NEVER                                                \
  " update pool o set never_joined = o.never_joined + never.machines::int," \
  " never_joined_at = clock_timestamp() from never"                         \
  " where o.project = never.project and o.name = never.pool"
const Statement kSeeEnded{
    "see_ended",
    "with gone as (update machine m set state = 4, since = greatest(k.ended,"
    " m.put_down_until + interval '1 us')"
    " from" TIDEMILL_SEEN
    " where k.ended_us > 0 and m.project = k.project and m.pool = k.pool and m.number = k.number"
    " and m.ordered and m.state < 4 returning m.project, m.pool, m.joined_at),"
    " never as (select project, pool, count(*) machines from gone where joined_at is null"
    " group by project, pool)" TIDEMILL_COUNT_NEVER};

// Pools that are listed.
#define TIDEMILL_LISTED \
  " unnest(string_to_array($7, E'\n'), string_to_array($8, E'\n')) l (project, pool)"
#define TIDEMILL_IS_THERE                                                           \
  " (exists (select 1 from" TIDEMILL_SEEN                                           \
  " where k.project = m.project and k.pool = m.pool and k.number = m.number)"       \
  " or not m.ending and exists"                                                     \
  " (select 1 from agent_session a where a.project = m.project and a.pool = m.pool" \
  " and a.machine = m.name and a.state < 2 and a.token <> ''))"
#define TIDEMILL_OF_LISTED \
  TIDEMILL_LISTED " where m.project = l.project and m.pool = l.pool and m.ordered and m.state < 4"
// Also while its provider lists nothing: it was missing before it joined.
const Statement kSeeFound{"see_found",
                          "update machine m set missing_since = null where m.ordered"
                          " and m.state < 4 and m.missing_since is not null"
                          " and" TIDEMILL_IS_THERE};
// One that was not made was never billed.
const Statement kSeeMissingGone{
    "see_missing_gone",
    "with gone as (update machine m set state = 4, since = case when m.billed_from = 'epoch'"
    " then t.now else greatest(m.missing_since, m.put_down_until + interval '1 us') end,"
    " put_down_until = case when m.billed_from = 'epoch' then t.now else m.put_down_until end"
    " from (select clock_timestamp() now) t," TIDEMILL_OF_LISTED " and not" TIDEMILL_IS_THERE
    " and m.missing_since <= t.now - $9 * interval '1 us'"
    " returning m.project, m.pool, m.joined_at, m.billed_from),"
    " never as (select project, pool, count(*) machines from gone where joined_at is null"
    " and billed_from <> 'epoch' group by project, pool)" TIDEMILL_COUNT_NEVER};
const Statement kSeeMissing{"see_missing",
                            "update machine m set missing_since = clock_timestamp()"
                            " from" TIDEMILL_OF_LISTED
                            " and m.missing_since is null and not" TIDEMILL_IS_THERE};

// Of a machine that has joined again while its last session was not reaped yet, the newer one.
#define TIDEMILL_LIVE                                                                        \
  " (select distinct on (project, pool, machine) session_id, project, pool, machine, state," \
  " joined_at from agent_session where state < 2 and token <> ''"                            \
  " order by project, pool, machine, joined_at desc) s"
const Statement kSeeJoined{
    "see_joined",
    "with now_there as (update machine m set session_id = s.session_id,"
    " joined_at = coalesce(m.joined_at, s.joined_at),"
    " state = greatest(m.state, (2 + s.state)::smallint),"
    " since = case when m.state >= 2 + s.state then m.since else clock_timestamp() end"
    " from" TIDEMILL_LIVE
    " where m.project = s.project and m.pool = s.pool and m.name = s.machine and m.state < 4"
    " and (m.session_id <> s.session_id or m.state < 2 + s.state)"
    " returning m.project, m.pool)"
    " update pool o set never_joined = 0 from now_there n"
    " where o.project = n.project and o.name = n.pool and o.never_joined > 0"};
// An ordered machine that has ended may leave a session for a while, which is no new machine.
const Statement kSeeStrangers{
    "see_strangers",
    "insert into machine (project, pool, number, name, state, since, price, billed_from,"
    " put_down_until, joined_at, ordered, session_id)"
    " select s.project, s.pool, coalesce((select least(min(x.number), 0) from machine x"
    " where x.project = s.project and x.pool = s.pool), 0)"
    " - row_number() over (partition by s.project, s.pool order by s.machine collate \"C\"),"
    " s.machine,"
    " 2 + s.state, clock_timestamp(), o.price, s.joined_at, s.joined_at, s.joined_at, false,"
    " s.session_id from" TIDEMILL_LIVE
    " join pool o on o.project = s.project and o.name = s.pool"
    " where not exists (select 1 from machine m where m.project = s.project and m.pool = s.pool"
    " and m.name = s.machine and (m.ordered or m.state < 4)) on conflict do nothing"};
// Drained and started again it is a new one: a machine never goes back.
const Statement kSeeStrangersGone{
    "see_strangers_gone",
    "update machine m set state = 4, since = greatest(m.put_down_until, coalesce("
    "(select a.ended_at from agent_session a where a.session_id = m.session_id),"
    " clock_timestamp())) where m.state < 4 and not m.ordered and not exists (select 1 from"
    " agent_session a where a.project = m.project and a.pool = m.pool and a.machine = m.name"
    " and a.state < 2 and a.token <> '' and (m.state < 3 or a.session_id = m.session_id))"};
// An agent that was made anew on a machine that drains, or is about to be ended, drains too.
const Statement kDrainAgain{
    "drain_again",
    "with anew as (select a.session_id from agent_session a join machine m"
    " on m.session_id = a.session_id where (m.state = 3 or m.ending) and m.state < 4"
    " and a.state = 0"
    " order by a.session_id for update of a)"
    " update agent_session a set state = 1 from anew n where a.session_id = n.session_id"
    " and a.state = 0"};
const Statement kSeeBusy{"see_busy",
                         "update machine m set idle_since = null where m.idle_since is not null"
                         " and m.state in (2, 3) and exists"
                         " (select 1 from lease l where l.session_id = m.session_id)"};
const Statement kSeeIdle{
    "see_idle",
    "update machine m set idle_since = coalesce((select a.ended_at from agent_session a"
    " where a.session_id = m.session_id), clock_timestamp()) where m.idle_since is null"
    " and m.state in (2, 3) and not exists"
    " (select 1 from lease l where l.session_id = m.session_id)"};
// To the minute: each second it would cost more than it tells.
const Statement kSeeServed{
    "see_served",
    "insert into served (job_id, at) select job_id, clock_timestamp() from lease"
    " group by job_id order by job_id on conflict (job_id) do update set at = excluded.at"
    " where served.at < excluded.at - interval '1 min'"};

const Statement kOrderMachines{
    "order_machines",
    "insert into machine (project, pool, number, name, state, since, price, billed_from,"
    " put_down_until, ordered)"
    " select o.project, o.name, n, o.name || '-' || n, 0, clock_timestamp(), $5, 'epoch', 'epoch',"
    " true from pool o, generate_series($3, $3 + $4 - 1) n where o.project = $1 and o.name = $2"
    " and n >= o.next_number on conflict do nothing returning number"};
const Statement kRaiseNumber{"raise_number",
                             "update pool set next_number = greatest(next_number, $3)"
                             " where project = $1 and name = $2"};
const Statement kDrainMachine{"drain_machine",
                              "with drained as (update machine set state = 3,"
                              " since = clock_timestamp() where project = $1 and pool = $2"
                              " and number = $3 and state = 2 returning session_id)"
                              " update agent_session a set state = 1 from drained d"
                              " where a.session_id = d.session_id and a.state = 0"};
// One that has joined meanwhile is no longer as it was seen, whatever its row says.
const Statement kEndMachine{
    "end_machine",
    "update machine m set ending = true where m.project = $1 and m.pool = $2 and m.number = $3"
    " and m.state = $4 and m.state < 4 and not exists"
    " (select 1 from agent_session a where a.project = m.project"
    " and a.pool = m.pool and a.machine = m.name and a.state < 2 and (m.state < 2"
    " or exists (select 1 from lease l where l.session_id = a.session_id)))"};
const Statement kDropOrder{
    "drop_order",
    "update machine set state = 4, since = t.now, put_down_until = t.now"
    " from (select clock_timestamp() now) t where project = $1 and pool = $2 and number = $3"
    " and state = 0 and billed_from = 'epoch'"};
const Statement kSetWord{
    "set_word",
    "update pool set word_until = 'epoch'::timestamptz + $3 * interval '1 us', word_tried = $4,"
    " word_quota = $5, word_text = $6 where project = $1 and name = $2"};
const Statement kForgive{"forgive",
                         "update pool set never_joined = 0, word_until = null, word_tried = 0,"
                         " word_quota = -1, word_text = '' where project = $1 and name = $2"};

const Statement kEndAfter{"end_after",
                          "update job set after_met = array_append(after_met, $2)"
                          " where job_id = $1 and $2 <> all (after_met)"};
const Statement kPauseAfter{
    "pause_after", "update job set state = 2, reason = $2 where job_id = $1 and state = 1"};
const Statement kNewWork{"new_work", "update change set seq = seq + 1"};

Params KeyParams(const MachineKey& key) {
  return Params().Text(key.project).Text(key.pool).Big(key.number);
}

Params SeenParams(const std::vector<ProviderSight>& seen) {
  std::string projects, pools, ids;
  std::vector<std::int64_t> numbers, since, ended;
  for (const ProviderSight& sight : seen) {
    projects.append(projects.empty() ? "" : "\n").append(sight.key.project);
    ids.append(pools.empty() ? "" : "\n").append(sight.id);
    pools.append(pools.empty() ? "" : "\n").append(sight.key.pool);
    numbers.push_back(sight.key.number);
    since.push_back(sight.since.time_since_epoch().count());
    ended.push_back(sight.ended ? sight.ended->time_since_epoch().count() : 0);
  }
  return Params().Text(projects).Text(pools).Bigs(numbers).Bigs(since).Bigs(ended).Text(ids);
}

Params LookParams(const ProviderLook& look) {
  std::string projects, pools;
  for (const auto& [project, pool] : look.listed) {
    projects.append(projects.empty() ? "" : "\n").append(project);
    pools.append(pools.empty() ? "" : "\n").append(pool);
  }
  return SeenParams(look.seen).Text(projects).Text(pools);
}

}  // namespace

Result<void> PostgresStore::SeeMachines(const ProviderLook& look) {
  const std::vector<ProviderSight>& seen = look.seen;
  return Transact<void>([&](Transaction& transaction) -> Result<void> {
    transaction.Send(kOneLeader);
    if (!seen.empty()) {
      transaction.Tell(kSeeIds, SeenParams(seen));
      transaction.Tell(kSeeMade, SeenParams(seen));
    }
    transaction.Tell(kSeeStrangersGone, {});
    transaction.Tell(kSeeJoined, {});
    if (!seen.empty()) transaction.Tell(kSeeEnded, SeenParams(seen));
    transaction.Tell(kSeeFound, SeenParams(seen));
    if (!look.listed.empty()) {
      transaction.Tell(kSeeMissingGone, LookParams(look).Big(kMissingTime.count()));
      transaction.Tell(kSeeMissing, LookParams(look));
    }
    transaction.Tell(kSeeStrangers, {});
    transaction.Tell(kDrainAgain, {});
    transaction.Tell(kSeeBusy, {});
    transaction.Tell(kSeeIdle, {});
    transaction.Tell(kSeeServed, {});
    TIDEMILL_TRY_VOID(transaction.Commit());
    return {};
  });
}

Result<std::optional<std::string>> PostgresStore::FindMachineById(const std::string& project,
                                                                  const std::string& pool,
                                                                  const std::string& id) {
  TIDEMILL_TRY(const Rows rows,
               Query(kFindMachineById, Params().Text(project).Text(pool).Text(id)));
  const auto names = ReadAll(rows, [](Row row) { return row.Text(); });
  if (names.empty()) return std::nullopt;
  return names.front();
}

Result<std::vector<MachineKey>> PostgresStore::OrderMachines(const std::string& project,
                                                             const std::string& pool,
                                                             std::int64_t first, std::int64_t count,
                                                             Money price) {
  return Transact<std::vector<MachineKey>>(
      [&](Transaction& transaction) -> Result<std::vector<MachineKey>> {
        const Params its = Params().Text(project).Text(pool);
        transaction.Send(kOrderMachines, Params(its).Big(first).Big(count).Big(price.micros));
        transaction.Tell(kRaiseNumber, Params(its).Big(first + count));
        TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
        return ReadAll(answers[0],
                       [&](Row row) -> MachineKey { return {project, pool, row.Big()}; });
      });
}

Result<void> PostgresStore::DrainMachine(const MachineKey& key) {
  TIDEMILL_TRY_VOID(Query(kDrainMachine, KeyParams(key)));
  return {};
}

Result<bool> PostgresStore::EndMachine(const MachineKey& key, MachineState seen) {
  TIDEMILL_TRY(const Rows rows,
               Query(kEndMachine, KeyParams(key).Int(static_cast<std::int32_t>(seen))));
  return rows.touched() > 0;
}

Result<void> PostgresStore::DropOrder(const MachineKey& key) {
  TIDEMILL_TRY_VOID(Query(kDropOrder, KeyParams(key)));
  return {};
}

Result<void> PostgresStore::SetProviderWord(const std::string& project, const std::string& pool,
                                            const ProviderWord& word) {
  const TimePoint until = word.no_capacity_until.value_or(TimePoint{});
  TIDEMILL_TRY_VOID(Query(kSetWord, Params()
                                        .Text(project)
                                        .Text(pool)
                                        .Big(until.time_since_epoch().count())
                                        .Int(word.tried)
                                        .Big(word.quota.value_or(-1))
                                        .Text(word.words)));
  return {};
}

Result<void> PostgresStore::ForgiveNeverJoined(const std::string& project,
                                               const std::string& pool) {
  TIDEMILL_TRY_VOID(Query(kForgive, Params().Text(project).Text(pool)));
  return {};
}

Result<void> PostgresStore::EndAfter(JobId job, JobId other, const std::string& reason) {
  return Transact<void>([&](Transaction& transaction) -> Result<void> {
    TIDEMILL_TRY(const Rows rows,
                 transaction.One(kEndAfter, Params().Big(job.number).Big(other.number)));
    if (rows.touched() > 0 && !reason.empty()) {
      transaction.Tell(kPauseAfter, Params().Big(job.number).Text(reason));
    }
    transaction.Tell(kNewWork, {});
    TIDEMILL_TRY_VOID(transaction.Commit());
    return {};
  });
}

}  // namespace tidemill
