// SPDX-License-Identifier: Apache-2.0
// Who leads, and the plan that is in force.
#include <utility>

#include "store/plan_body.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/rules.h"

namespace tidemill {
namespace {

const Statement kLead{
    "lead",
    "update leader set epoch = case when holder = $1 then epoch else epoch + 1 end, holder = $1,"
    " until = clock_timestamp() + $2 * interval '1 us'"
    " where holder = $1 or until <= clock_timestamp() returning epoch"};
const Statement kStepDown{"step_down",
                          "update leader set holder = '', until = 'epoch' where holder = $1"};
const Statement kLockLeader{"lock_leader", "select epoch from leader for update"};
const Statement kReadBodies{"read_bodies", "select project, body from plan order by project"};
const Statement kPutBody{"put_body",
                         "insert into plan (project, body) values ($1, $2)"
                         " on conflict (project) do update set body = excluded.body"};
const Statement kDropBody{"drop_body", "delete from plan where project = $1"};
const Statement kNextPlan{"next_plan", "update leader set plan_seq = plan_seq + 1"};
const Statement kPlanSeq{"plan_seq", "select plan_seq from leader"};
const Statement kReadUses{
    "read_uses",
    "select s.session_id, s.project, s.pool, s.millicpus, s.memory_bytes, s.devices, l.job_id,"
    " sum(bit_count(l.mine))::bigint from lease l"
    " join agent_session s on s.session_id = l.session_id and s.state < 2"
    " group by s.session_id, l.job_id order by s.session_id, l.job_id"};

std::vector<SessionUse> ReadUses(const Rows& rows) {
  std::vector<SessionUse> uses;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    const auto session = row.Uuid<SessionId>();
    if (uses.empty() || uses.back().session != session) uses.emplace_back();
    SessionUse& use = uses.back();
    use.session = session;
    use.project = row.Text();
    use.pool = row.Text();
    use.shape.millicpus = row.Big();
    use.shape.memory_bytes = row.Big();
    use.shape.devices = ParseDevices(row.Text()).value_or(Devices{});
    const JobId job{row.Big()};
    use.owed[job] = row.Big();
  }
  return uses;
}

}  // namespace

Result<std::optional<std::int64_t>> PostgresStore::Lead(const std::string& holder, Duration life) {
  TIDEMILL_TRY(const Rows rows, Query(kLead, Params().Text(holder).Big(life.count())));
  if (rows.empty()) return std::nullopt;
  return rows[0].Big();
}

Result<void> PostgresStore::StepDown(const std::string& holder) {
  TIDEMILL_TRY_VOID(Query(kStepDown, Params().Text(holder)));
  return {};
}

Result<void> PostgresStore::WritePlans(std::int64_t epoch,
                                       const std::map<std::string, Plan>& plans) {
  return Transact<void>([&](Transaction& transaction) -> Result<void> {
    transaction.Send(kLockLeader);
    transaction.Send(kReadBodies);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
    if (answers[0][0].Big() != epoch) return NotTheLeader();
    std::map<std::string, std::string> before;
    for (int i = 0; i < answers[1].size(); ++i) {
      Row row = answers[1][i];
      const std::string project = row.Text();
      before[project] = row.Text();
    }
    bool differs = false;
    for (const auto& [project, plan] : plans) {
      const std::string body = PackPlan(plan);
      const auto found = before.find(project);
      const bool same = found != before.end() && found->second == body;
      if (found != before.end()) before.erase(found);
      if (same) continue;
      differs = true;
      transaction.Tell(kPutBody, Params().Text(project).Bytes(body));
    }
    for (const auto& [project, body] : before) {
      differs = true;
      transaction.Tell(kDropBody, Params().Text(project));
    }
    if (differs) transaction.Tell(kNextPlan, {});
    TIDEMILL_TRY_VOID(transaction.Commit());
    return {};
  });
}

Result<PlanInForce> PostgresStore::ReadPlan() {
  return Transact<PlanInForce>([&](Transaction& transaction) -> Result<PlanInForce> {
    transaction.ReadOnly();
    transaction.Send(kPlanSeq);
    transaction.Send(kReadBodies);
    transaction.Send(kReadUses);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    PlanInForce plan;
    plan.seq = answers[0][0].Big();
    for (int i = 0; i < answers[1].size(); ++i) {
      Row row = answers[1][i];
      const std::string project = row.Text();
      plan.plans[project] = UnpackPlan(row.Text());
    }
    plan.uses = ReadUses(answers[2]);
    return plan;
  });
}

}  // namespace tidemill
