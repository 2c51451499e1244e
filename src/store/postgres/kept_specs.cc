// SPDX-License-Identifier: Apache-2.0
// Specs that are kept under a name, with versions.
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/rules.h"
#include "store/settings_rules.h"

namespace tidemill {
namespace {

KeptSpec ReadSpec(Row& row) {
  KeptSpec spec;
  spec.name = row.Text();
  spec.version = row.Int();
  spec.document = row.Text();
  spec.made_by = row.Text();
  spec.created_ms = row.Time() / 1000;
  return spec;
}

// Whoever puts a spec has the project's row: two versions at the same moment get two numbers.
const Statement kLockProject{"lock_project",
                             "select name from project where name = $1 for no key update"};
const Statement kCountSpecs{
    "count_specs", "select count(distinct name) from kept_spec where project = $1 and name <> $2"};
const Statement kFindSpec{"find_spec",
                          "select name, version, document, made_by, created_at from kept_spec"
                          " where project = $1 and name = $2 and ($3 = 0 or version = $3)"
                          " order by version desc limit 1"};
const Statement kAddSpec{"add_spec",
                         "insert into kept_spec (project, name, version, document, made_by)"
                         " values ($1, $2, $3, $4, $5)"
                         " returning name, version, document, made_by, created_at"};
const Statement kListSpecs{
    "list_specs",
    "select distinct on (name collate \"C\") name, version, '', made_by, created_at"
    " from kept_spec where project = $1 and name > $2 collate \"C\""
    " order by name collate \"C\", version desc limit $3"};
const Statement kDropSpec{"drop_spec", "delete from kept_spec where project = $1 and name = $2"};

}  // namespace

Result<KeptSpec> PostgresStore::PutSpec(const std::string& project, const KeptSpec& spec) {
  return Transact<KeptSpec>([&](Transaction& transaction) -> Result<KeptSpec> {
    TIDEMILL_TRY(const Rows locked, transaction.One(kLockProject, Params().Text(project)));
    if (locked.empty()) return NoSuchProject(project);
    transaction.Send(kCountSpecs, Params().Text(project).Text(spec.name));
    transaction.Send(kFindSpec, Params().Text(project).Text(spec.name).Int(0));
    TIDEMILL_TRY(const std::vector<Rows> seen, transaction.Flush());
    if (seen[0][0].Big() >= kSpecsPerProject) return TooManySpecs();
    KeptSpec newest;
    if (!seen[1].empty()) newest = ReadFirst(seen[1], ReadSpec);
    if (newest.version > 0 && newest.document == spec.document) return newest;
    if (newest.version >= kVersionsPerSpec) return TooManyVersions(spec.name);
    transaction.Send(kAddSpec, Params()
                                   .Text(project)
                                   .Text(spec.name)
                                   .Int(newest.version + 1)
                                   .Text(spec.document)
                                   .Text(spec.made_by));
    TIDEMILL_TRY(const std::vector<Rows> added, transaction.Commit());
    return ReadFirst(added[0], ReadSpec);
  });
}

Result<KeptSpec> PostgresStore::FindSpec(const std::string& project, const std::string& name,
                                         std::optional<std::int32_t> version) {
  TIDEMILL_TRY(Rows rows,
               Query(kFindSpec, Params().Text(project).Text(name).Int(version.value_or(0))));
  if (!rows.empty() && version != 0) return ReadFirst(rows, ReadSpec);
  if (!version) return NoSuchSpec(name);
  TIDEMILL_TRY(rows, Query(kFindSpec, Params().Text(project).Text(name).Int(0)));
  if (rows.empty()) return NoSuchSpec(name);
  return NoSuchVersion(name, *version);
}

Result<std::vector<KeptSpec>> PostgresStore::ListSpecs(const std::string& project,
                                                       const std::string& after, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListSpecs, Params().Text(project).Text(after).Int(limit)));
  return ReadAll(rows, ReadSpec);
}

Result<void> PostgresStore::DropSpec(const std::string& project, const std::string& name) {
  TIDEMILL_TRY(const Rows rows, Query(kDropSpec, Params().Text(project).Text(name)));
  if (rows.touched() == 0) return NoSuchSpec(name);
  return {};
}

}  // namespace tidemill
