// SPDX-License-Identifier: Apache-2.0
// Projects, pools, secrets, and what is written down of calls.
#include "model/cloud_role.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/rules.h"

namespace tidemill {
namespace {

#define TIDEMILL_PROJECT_COLUMNS \
  "name, calls_per_second, items_max, log_bytes, created_at, cloud_roles"
Project ReadProject(Row& row) {
  Project project;
  project.name = row.Text();
  project.limits.calls_per_second = row.Int();
  project.limits.items = row.Big();
  project.limits.log_bytes = row.Big();
  project.created_ms = row.Time() / 1000;
  project.cloud_roles = ParseCloudRoles(row.Text());
  return project;
}

AuditRow ReadAudit(Row& row) {
  AuditRow audit;
  audit.id = row.Big();
  audit.at_ms = row.Time() / 1000;
  audit.project = row.Text();
  audit.who = row.Text();
  audit.token = row.Text();
  audit.address = row.Text();
  audit.action = row.Text();
  audit.target = row.Text();
  audit.allowed = row.Flag();
  return audit;
}

SecretInfo ReadSecret(Row& row) {
  SecretInfo secret;
  secret.name = row.Text();
  secret.updated_ms = row.Time() / 1000;
  secret.updated_by = row.Text();
  return secret;
}

const Statement kPutProject{
    "put_project",
    "insert into project (name, calls_per_second, items_max, log_bytes) values ($1, $2, $3, $4)"
    " on conflict (name) do update set calls_per_second = $2, items_max = $3, log_bytes = $4"
    " returning " TIDEMILL_PROJECT_COLUMNS};
const Statement kFirstPool{"first_pool",
                           "insert into pool (project, name) values ($1, $2)"
                           " on conflict do nothing"};
const Statement kFindProject{"find_project",
                             "select " TIDEMILL_PROJECT_COLUMNS " from project where name = $1"};
const Statement kSetCloudRoles{
    "set_cloud_roles",
    "update project set cloud_roles = $2 where name = $1 returning " TIDEMILL_PROJECT_COLUMNS};
const Statement kListProjects{"list_projects", "select " TIDEMILL_PROJECT_COLUMNS
                                               " from project where name > $1 collate \"C\""
                                               " order by name collate \"C\" limit $2"};
const Statement kPutPool{
    "put_pool",
    "insert into pool (project, name, no_capabilities, read_only_root, no_network,"
    " user_namespace, firewall, volumes) select $1, $2, $3, $4, $5, $6, $7, $8"
    " where exists (select 1 from project where name = $1)"
    " on conflict (project, name) do update set no_capabilities = $3, read_only_root = $4,"
    " no_network = $5, user_namespace = $6, firewall = $7, volumes = $8"};
const Statement kFindPool{"find_pool", "select " TIDEMILL_POOL_COLUMNS
                                       " from pool o where o.project = $1 and o.name = $2"};
const Statement kListPools{"list_pools", "select " TIDEMILL_POOL_COLUMNS
                                         " from pool o where o.project = $1 and"
                                         " o.name > $2 collate \"C\""
                                         " order by o.name collate \"C\" limit $3"};

const Statement kCountSecrets{"count_secrets",
                              "select count(*) from secret where project = $1 and name <> $2"};
const Statement kPutSecret{
    "put_secret",
    "insert into secret (project, name, sealed, updated_by) select $1, $2, $3, $4"
    " where exists (select 1 from project where name = $1)"
    " on conflict (project, name) do update set sealed = $3, updated_by = $4,"
    " updated_at = clock_timestamp()"};
const Statement kDropSecret{"drop_secret", "delete from secret where project = $1 and name = $2"};
const Statement kListSecrets{"list_secrets",
                             "select name, updated_at, updated_by from secret where project = $1"
                             " order by name collate \"C\""};
const Statement kFindSecret{"find_secret",
                            "select sealed from secret where project = $1 and name = $2"};

const Statement kRecord{"record",
                        "insert into audit (project, who, token, address, action, target, allowed)"
                        " values ($1, $2, $3, $4, $5, $6, $7)"};
const Statement kListAudit{
    "list_audit",
    "select audit_id, at, project, who, token, address, action, target, allowed from audit"
    " where audit_id < $1 order by audit_id desc limit $2"};
const Statement kListAuditOf{
    "list_audit_of",
    "select audit_id, at, project, who, token, address, action, target, allowed from audit"
    " where project = $3 and audit_id < $1 order by audit_id desc limit $2"};
const Statement kDropBrowsers{"drop_browsers",
                              "delete from browser where expires_at < clock_timestamp()"};
// Whoever looks for one that has been nobody's for a month finds its deeds in the audit.
const Statement kDropTokens{
    "drop_tokens",
    "delete from token where least(expires_at, coalesce(revoked_at, 'infinity'))"
    " < clock_timestamp() - interval '30 days'"};
const Statement kDropAudit{"drop_audit",
                           "delete from audit where at < clock_timestamp() - $1 * interval '1 us'"};

}  // namespace

Pool ReadPool(Row& row) {
  Pool pool;
  pool.project = row.Text();
  pool.name = row.Text();
  pool.policy.no_capabilities = row.Flag();
  pool.policy.read_only_root = row.Flag();
  pool.policy.no_network = row.Flag();
  pool.policy.user_namespace = row.Flag();
  pool.policy.firewall = row.Flag();
  pool.policy.volumes = ParseVolumes(row.Text());
  return pool;
}

// --- projects and pools ---

Result<Project> PostgresStore::PutProject(const std::string& name, const ProjectLimits& limits) {
  return Transact<Project>([&](Transaction& transaction) -> Result<Project> {
    transaction.Send(
        kPutProject,
        Params().Text(name).Int(limits.calls_per_second).Big(limits.items).Big(limits.log_bytes));
    transaction.Send(kFirstPool, Params().Text(name).Text(kDefaultPool));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    return ReadFirst(answers[0], ReadProject);
  });
}

Result<Project> PostgresStore::FindProject(const std::string& name) {
  TIDEMILL_TRY(const Rows rows, Query(kFindProject, Params().Text(name)));
  if (rows.empty()) return NoSuchProject(name);
  return ReadFirst(rows, ReadProject);
}

Result<Project> PostgresStore::SetCloudRoles(const std::string& project,
                                             const std::vector<std::string>& roles) {
  TIDEMILL_TRY(const Rows rows,
               Query(kSetCloudRoles, Params().Text(project).Text(FormatCloudRoles(roles))));
  if (rows.empty()) return NoSuchProject(project);
  return ReadFirst(rows, ReadProject);
}

Result<std::vector<Project>> PostgresStore::ListProjects(const std::string& after, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListProjects, Params().Text(after).Int(limit)));
  return ReadAll(rows, ReadProject);
}

Result<Pool> PostgresStore::PutPool(const Pool& pool) {
  const ContainerPolicy& policy = pool.policy;
  TIDEMILL_TRY(const Rows rows, Query(kPutPool, Params()
                                                    .Text(pool.project)
                                                    .Text(pool.name)
                                                    .Flag(policy.no_capabilities)
                                                    .Flag(policy.read_only_root)
                                                    .Flag(policy.no_network)
                                                    .Flag(policy.user_namespace)
                                                    .Flag(policy.firewall)
                                                    .Text(FormatVolumes(policy.volumes))));
  if (rows.touched() == 0) return NoSuchProject(pool.project);
  return pool;
}

Result<Pool> PostgresStore::FindPool(const std::string& project, const std::string& name) {
  TIDEMILL_TRY(const Rows rows, Query(kFindPool, Params().Text(project).Text(name)));
  if (rows.empty()) return NoSuchPool(name);
  return ReadFirst(rows, ReadPool);
}

Result<std::vector<Pool>> PostgresStore::ListPools(const std::string& project,
                                                   const std::string& after, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListPools, Params().Text(project).Text(after).Int(limit)));
  return ReadAll(rows, ReadPool);
}

// --- secrets ---

// Two new ones at the same moment may pass the limit by one, which harms nobody.
Result<void> PostgresStore::PutSecret(const std::string& project, const std::string& name,
                                      const std::string& sealed, const std::string& by) {
  TIDEMILL_TRY(Rows rows, Query(kCountSecrets, Params().Text(project).Text(name)));
  if (rows[0].Big() >= limits::kSecretsPerProject) return TooManySecrets();
  TIDEMILL_TRY(rows, Query(kPutSecret, Params().Text(project).Text(name).Bytes(sealed).Text(by)));
  if (rows.touched() == 0) return NoSuchProject(project);
  return {};
}

Result<void> PostgresStore::DropSecret(const std::string& project, const std::string& name) {
  TIDEMILL_TRY(const Rows rows, Query(kDropSecret, Params().Text(project).Text(name)));
  if (rows.touched() == 0) return NoSuchSecret(name);
  return {};
}

Result<std::vector<SecretInfo>> PostgresStore::ListSecrets(const std::string& project) {
  TIDEMILL_TRY(const Rows rows, Query(kListSecrets, Params().Text(project)));
  return ReadAll(rows, ReadSecret);
}

Result<std::map<std::string, std::string>> PostgresStore::FindSecrets(
    const std::string& project, const std::vector<std::string>& names) {
  using Sealed = std::map<std::string, std::string>;
  return Transact<Sealed>([&](Transaction& transaction) -> Result<Sealed> {
    transaction.ReadOnly();
    for (const std::string& name : names) {
      transaction.Send(kFindSecret, Params().Text(project).Text(name));
    }
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    Sealed sealed;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!answers[i].empty()) sealed[names[i]] = answers[i][0].Text();
    }
    return sealed;
  });
}

// --- audit ---

Result<void> PostgresStore::Record(const AuditRow& row) {
  TIDEMILL_TRY(const Rows rows, Query(kRecord, Params()
                                                   .Text(row.project)
                                                   .Text(row.who)
                                                   .Text(row.token)
                                                   .Text(row.address)
                                                   .Text(row.action)
                                                   .Text(row.target)
                                                   .Flag(row.allowed)));
  return {};
}

Result<std::vector<AuditRow>> PostgresStore::ListAudit(const AuditFilter& filter) {
  Params params;
  params.Big(filter.before.value_or(INT64_MAX)).Int(filter.limit);
  const bool all = filter.project.empty();
  if (!all) params.Text(filter.project);
  TIDEMILL_TRY(const Rows rows, Query(all ? kListAudit : kListAuditOf, params));
  return ReadAll(rows, ReadAudit);
}

Result<std::int64_t> PostgresStore::DropOldAccess(Duration audit_age) {
  TIDEMILL_TRY(const Rows browsers, Query(kDropBrowsers));
  TIDEMILL_TRY(const Rows tokens, Query(kDropTokens));
  TIDEMILL_TRY(const Rows audit, Query(kDropAudit, Params().Big(audit_age.count())));
  return browsers.touched() + tokens.touched() + audit.touched();
}

}  // namespace tidemill
