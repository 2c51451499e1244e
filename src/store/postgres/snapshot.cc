// SPDX-License-Identifier: Apache-2.0
// What the leader decides from, as of one moment.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "store/plan_body.h"
#include "store/postgres/pool_rows.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/postgres/status.h"
#include "store/retries.h"
#include "store/rules.h"
#include "store/snapshot_rules.h"

namespace tidemill {

// Counts the first chunks that have something free, and takes what lies behind them for free: a job
// of ten million items costs no more than one of a million. Only leases of one item are looked at
// for suspects, which are leased alone.
const Statement kSnapshotJobs{
    "snapshot_jobs",
    "select j.job_id, j.project, j.name, j.owner, j.queue, j.priority, j.created_at,"
    " j.millicpus, j.memory_now, j.devices, j.max_parallel, j.deadline_ms, j.budget, j.labels,"
    " array_to_string(array(select unnest(j.after_jobs) except select unnest(j.after_met)"
    " order by 1), ' '), j.state, j.reason,"
    " f.free + case when f.chunks = $1 then greatest(j.items - f.last, 0) else 0 end + d.due,"
    " f.worn, r.resting, coalesce(r.first, 'epoch'), coalesce(l.owed, 0), coalesce(l.worn, 0),"
    " greatest(v.at, j.created_at, l.newest), coalesce(t.items, 0)::bigint,"
    " coalesce(t.seconds, 0)::text, coalesce(t.squares, 0)::text, coalesce(t.lost, 0)::text,"
    " coalesce(s.micros, 0)::bigint"
    " from job j cross join lateral"
    " (select coalesce(sum(bit_count(c.free)), 0)::bigint free,"
    "  coalesce(sum(bit_count(c.free & c.suspect)), 0)::bigint worn, count(*) chunks,"
    "  coalesce(max(c.last), 0) last from"
    "  (select ~ (k.done | k.leased | k.parked | k.resting) free, k.suspect,"
    "   k.first_item + length(k.done) last from chunk k"
    "   where k.job_id = j.job_id and k.has_free order by k.chunk limit $1) c) f"
    " cross join lateral (select count(*) due from (select 1 from item_try i"
    "  where i.job_id = j.job_id and i.due_at <= (select clock_timestamp()) limit $2) x) d"
    " cross join lateral (select count(*) resting, min(x.due_at) first from (select i.due_at"
    "  from item_try i where i.job_id = j.job_id and i.due_at > (select clock_timestamp())"
    "  order by i.due_at limit $2) x) r"
    " left join (select e.job_id, sum(bit_count(e.mine))::bigint owed, max(e.granted_at) newest,"
    "  sum(case when bit_count(e.mine) = 1 then (select bit_count(e.mine & k.suspect) from chunk k"
    "   where k.job_id = e.job_id and k.chunk = e.chunk) else 0 end)::bigint worn"
    "  from lease e group by e.job_id) l on l.job_id = j.job_id"
    " left join lateral (select sum(h.items) items, sum(h.seconds) seconds, sum(h.squares) squares,"
    "  sum(h.lost_seconds) lost from job_time h where h.job_id = j.job_id) t on true"
    " left join served v on v.job_id = j.job_id"
    " left join lateral (select sum(p.micros) micros from spend p where p.job_id = j.job_id) s"
    " on true"
    " where j.state in (1, 2) and j.state in (1, 2, 4) order by j.project, j.job_id"};
const Statement kSnapshotMachines{
    "snapshot_machines",
    "select m.project, m.pool, m.number, m.name, m.state, m.since, m.price, m.billed_from,"
    " m.put_down_until, coalesce(m.joined_at, 'epoch'), coalesce(m.idle_since, 'epoch'),"
    " coalesce(m.missing_since, 'epoch'),"
    " m.ordered, m.ending, coalesce(a.session_id, '00000000-0000-0000-0000-000000000000'),"
    " coalesce(a.millicpus, 0), coalesce(a.memory_bytes, 0), coalesce(a.devices, ''),"
    " coalesce(a.status, '') from machine m left join agent_session a"
    " on a.session_id = m.session_id and a.state < 2 and a.token <> ''"
    " where m.state < 4 or m.put_down_until < m.since order by m.project, m.pool, m.number"};

namespace {

const Statement kNow{"now", "select clock_timestamp()"};
const Statement kSnapshotPools{
    "snapshot_pools",
    "select " TIDEMILL_SETTINGS_COLUMNS
    ", coalesce(o.word_until, 'epoch'), o.word_tried, o.word_quota, o.word_text, o.next_number,"
    " o.never_joined, o.never_joined_at from pool o order by o.project, o.name collate \"C\""};
const Statement kSnapshotQueues{"snapshot_queues", "select q.project, " TIDEMILL_QUEUE_COLUMNS
                                                   " from queue q order by q.project,"
                                                   " q.name collate \"C\""};
const Statement kSnapshotLeases{"snapshot_leases",
                                "select session_id, job_id, sum(bit_count(mine))::bigint from lease"
                                " group by session_id, job_id order by session_id, job_id"};
const Statement kSnapshotPlans{"snapshot_plans", "select project, body from plan"};

TimePoint ReadTime(Row& row) { return TimePoint(Duration(row.Time())); }

std::optional<TimePoint> ReadTimeIfAny(Row& row) {
  const TimePoint time = ReadTime(row);
  return time == TimePoint{} ? std::nullopt : std::optional(time);
}

std::pair<std::string, PlanPool> ReadPlanPool(Row& row) {
  const PoolSettings settings = ReadSettings(row);
  PlanPool pool;
  static_cast<PoolMachines&>(pool) = settings.machines;
  pool.name = settings.pool.name;
  pool.provider_word.no_capacity_until = ReadTimeIfAny(row);
  pool.provider_word.tried = row.Int();
  if (const std::int64_t quota = row.Big(); quota >= 0) pool.provider_word.quota = quota;
  pool.provider_word.words = row.Text();
  pool.next_number = row.Big();
  pool.never_joined = row.Int();
  pool.never_joined_at = ReadTime(row);
  return {settings.pool.project, std::move(pool)};
}

std::pair<std::string, PlanJob> ReadPlanJob(Row& row) {
  PlanJob job;
  Job known;
  job.id = known.id = {row.Big()};
  std::string project = row.Text();
  known.spec.name = row.Text();
  job.name = PublicId(known);
  job.owner = row.Text();
  job.queue = row.Text();
  if (job.queue.empty()) job.queue = kDefaultQueue;
  job.priority = row.Int();
  job.submitted = ReadTime(row);
  job.need.millicpus = row.Big();
  job.need.memory_bytes = row.Big();
  job.need.devices = ParseDevices(row.Text()).value_or(Devices{});
  if (const std::int64_t most = row.Big(); most >= 0) job.max_parallel = most;
  if (const std::int64_t ms = row.Big(); ms >= 0) {
    job.deadline = job.submitted + std::chrono::milliseconds(ms);
  }
  if (const std::int64_t micros = row.Big(); micros >= 0) job.budget = Money{micros};
  job.labels = ParseLabels(row.Text());
  job.after = ParseJobIds(row.Text());
  const auto state = static_cast<JobState>(row.Small());
  const std::string reason = row.Text();
  if (state == JobState::kPaused) job.paused = reason;
  job.waiting = row.Big();
  job.worn_waiting = row.Big();
  job.resting = row.Big();
  job.rest_until = ReadTime(row);
  job.leased = row.Big();
  job.worn_leased = row.Big();
  job.served = ReadTime(row);
  const std::int64_t items = row.Big();
  const double seconds = std::stod(row.Text());
  const double squares = std::stod(row.Text());
  job.times = TimesOf(items, seconds, squares);
  const double lost = std::stod(row.Text());
  job.lost = FromSeconds(lost);
  job.worked = FromSeconds(seconds + lost);
  job.spent = {row.Big()};
  return {std::move(project), std::move(job)};
}

// What the agent last said of jobs.
std::map<JobId, std::string> ReadJobUses(const std::string& status, PlanMachine& machine) {
  std::map<JobId, std::string> waits;
  const auto said = UnpackStatus(status);
  if (!said) return waits;
  for (const JobUse& use : said->jobs) {
    waits[use.job] = use.waits_for;
    if (!use.trouble.empty()) machine.resting.push_back(use.job);
  }
  return waits;
}

using Owed = std::map<SessionId, std::map<JobId, std::int64_t>>;

std::pair<std::string, PlanMachine> ReadPlanMachine(Row& row, const Owed& owed,
                                                    const std::map<JobId, Resources>& needs) {
  PlanMachine machine;
  std::string project = row.Text();
  machine.pool = row.Text();
  machine.number = row.Big();
  machine.name = row.Text();
  machine.state = static_cast<MachineState>(row.Small());
  machine.since = ReadTime(row);
  machine.price = {row.Big()};
  machine.billed_from = ReadTime(row);
  machine.put_down_until = ReadTime(row);
  machine.joined = ReadTimeIfAny(row);
  machine.idle_since = ReadTime(row);
  machine.missing_since = ReadTimeIfAny(row);
  machine.ordered = row.Flag();
  machine.ending = row.Flag();
  machine.session = row.Uuid<SessionId>();
  machine.has = {row.Big(), 0, {}};
  machine.has.memory_bytes = row.Big();
  machine.has.devices = ParseDevices(row.Text()).value_or(Devices{});
  const std::map<JobId, std::string> waits = ReadJobUses(row.Text(), machine);
  if (const auto found = owed.find(machine.session); found != owed.end()) {
    machine.leases = LeasesOn(machine.has, found->second, needs, waits);
  }
  return {std::move(project), std::move(machine)};
}

Owed ReadOwed(const Rows& rows) {
  Owed owed;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    const auto session = row.Uuid<SessionId>();
    const JobId job{row.Big()};
    owed[session][job] = row.Big();
  }
  return owed;
}

}  // namespace

Result<Snapshots> PostgresStore::ReadSnapshots() {
  return Transact<Snapshots>([&](Transaction& transaction) -> Result<Snapshots> {
    transaction.ReadOnly();
    transaction.Send(kNow);
    transaction.Send(kSnapshotPools);
    transaction.Send(kSnapshotQueues);
    transaction.Send(kSnapshotJobs, Params().Int(kFreeSampleChunks).Int(kDueSample));
    transaction.Send(kSnapshotLeases);
    transaction.Send(kSnapshotMachines);
    transaction.Send(kSnapshotPlans);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    std::map<std::string, Snapshot> projects;
    for (int i = 0; i < answers[1].size(); ++i) {
      Row row = answers[1][i];
      auto [project, pool] = ReadPlanPool(row);
      projects[project].pools.push_back(std::move(pool));
    }
    for (int i = 0; i < answers[2].size(); ++i) {
      Row row = answers[2][i];
      const std::string project = row.Text();
      projects[project].queues.push_back(ReadQueue(row));
    }
    std::map<JobId, Resources> needs;
    for (int i = 0; i < answers[3].size(); ++i) {
      Row row = answers[3][i];
      auto [project, job] = ReadPlanJob(row);
      needs[job.id] = job.need;
      projects[project].jobs.push_back(std::move(job));
    }
    const Owed owed = ReadOwed(answers[4]);
    for (int i = 0; i < answers[5].size(); ++i) {
      Row row = answers[5][i];
      auto [project, machine] = ReadPlanMachine(row, owed, needs);
      projects[project].machines.push_back(std::move(machine));
    }
    std::map<std::string, Plan> plans;
    for (int i = 0; i < answers[6].size(); ++i) {
      Row row = answers[6][i];
      const std::string project = row.Text();
      plans[project] = UnpackPlan(row.Text());
    }
    Row clock = answers[0][0];
    return FinishSnapshots(ReadTime(clock), std::move(projects), plans);
  });
}

}  // namespace tidemill
