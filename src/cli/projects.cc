// SPDX-License-Identifier: Apache-2.0
#include "cli/projects.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "cli/format.h"
#include "cli/pages.h"
#include "cli/table.h"
#include "wire/access_json.h"
#include "wire/settings_json.h"
#include "wire/size.h"

namespace tidemill::cli {
namespace {

struct Demand {
  std::string_view text;
  bool ContainerPolicy::* flag;
};

constexpr std::array kDemands = {
    Demand{"no capabilities", &ContainerPolicy::no_capabilities},
    Demand{"read-only root", &ContainerPolicy::read_only_root},
    Demand{"no network", &ContainerPolicy::no_network},
    Demand{"user namespace", &ContainerPolicy::user_namespace},
    Demand{"firewall", &ContainerPolicy::firewall},
};

// What a pool lends, which the command does not name and so leaves as it is.
Result<Volumes> FindVolumes(Client& client, const std::string& name) {
  TIDEMILL_TRY(const std::vector<PoolSettings> pools,
               FetchAll<PoolSettings>(client, "/v1/pools", ParsePools, [](const std::string&) {}));
  const auto found = std::find_if(pools.begin(), pools.end(),
                                  [&](const PoolSettings& pool) { return pool.pool.name == name; });
  return found == pools.end() ? Volumes{} : found->pool.policy.volumes;
}

// The limits as they are; those of a project that is not there yet are the usual ones.
Result<ProjectLimits> FindLimits(Client& client, const std::string& name) {
  TIDEMILL_TRY(const std::vector<Project> projects,
               FetchAll<Project>(client, "/v1/projects", ParseProjects, [](const std::string&) {}));
  const auto found = std::find_if(projects.begin(), projects.end(),
                                  [&](const Project& project) { return project.name == name; });
  return found == projects.end() ? ProjectLimits{} : found->limits;
}

std::string ProjectLimitsText(const ProjectLimits& limits) {
  return Thousands(limits.calls_per_second) + " calls a second, " + CountOf(limits.items, "item") +
         " in jobs that are not over, " + BytesText(limits.log_bytes) + " of log an attempt";
}

std::string RolesText(const std::vector<std::string>& roles) {
  std::string out;
  for (const std::string& role : roles) out.append(out.empty() ? "" : ", ").append(Printable(role));
  return out.empty() ? "-" : out;
}

// The answer to what was asked last.
Result<std::string> PutProject(Client& client, const ProjectFlags& flags,
                               const ProjectLimits& limits) {
  const std::string target = "/v1/projects/" + PercentEncode(flags.name);
  const auto body = client.Put(target, FormatProjectLimits(limits));
  if (!body || (flags.cloud_roles.empty() && !flags.no_cloud_roles)) return body;
  return client.Put(target + "/cloud-roles", FormatProjectRoles(flags.cloud_roles));
}

}  // namespace

std::string DemandsText(const ContainerPolicy& policy) {
  std::string out;
  for (const Demand& demand : kDemands) {
    if (policy.*demand.flag) out.append(out.empty() ? "" : ", ").append(demand.text);
  }
  return out.empty() ? "-" : out;
}

std::string VolumesText(const Volumes& volumes) {
  std::string out;
  for (const auto& [name, volume] : volumes) {
    out.append(out.empty() ? "" : ", ").append(name).append(" = ");
    out += Printable(volume.nfs.empty() ? volume.host : volume.nfs);
    if (!volume.options.empty()) out += " (" + Printable(volume.options) + ")";
    if (volume.readonly) out += " read-only";
  }
  return out.empty() ? "-" : out;
}

std::string PoolsText(const std::vector<Pool>& pools, std::size_t width, bool colours) {
  if (pools.empty()) return "no pools.  Make one:  tidemill pool set NAME --default\n";
  std::vector<std::vector<Cell>> rows;
  for (const Pool& pool : pools) {
    rows.push_back(
        {Printable(pool.name), DemandsText(pool.policy), VolumesText(pool.policy.volumes)});
  }
  return FormatTable({{"POOL"}, {"DEMANDS OF ITS CONTAINERS"}, {"VOLUMES"}}, rows, width, colours);
}

std::string ProjectsText(const std::vector<Project>& projects, std::int64_t now_ms,
                         std::size_t width, bool colours) {
  std::vector<std::vector<Cell>> rows;
  for (const Project& project : projects) {
    rows.push_back({Printable(project.name), Thousands(project.limits.calls_per_second),
                    Thousands(project.limits.items), BytesText(project.limits.log_bytes),
                    WhenText(project.created_ms, now_ms), RolesText(project.cloud_roles)});
  }
  return FormatTable(
      {{"PROJECT"}, {"CALLS/S", true}, {"ITEMS", true}, {"LOG", true}, {"MADE"}, {"CLOUD ROLES"}},
      rows, width, colours);
}

std::string AuditText(const std::vector<AuditRow>& rows, std::int64_t now_ms, std::int64_t zone_s,
                      std::size_t width, bool colours) {
  if (rows.empty()) return "nobody has changed anything yet\n";
  std::vector<std::vector<Cell>> cells;
  for (const AuditRow& row : rows) {
    cells.push_back({ClockText(row.at_ms, now_ms, zone_s), Printable(row.who),
                     Printable(row.address), row.allowed ? Cell("yes") : Cell("no", Colour::kRed),
                     Printable(row.action), row.target.empty() ? "-" : Printable(row.target)});
  }
  return FormatTable({{"WHEN"}, {"WHO"}, {"FROM"}, {"ALLOWED"}, {"WHAT"}, {"ON"}}, cells, width,
                     colours);
}

int ListPools(const Context& context) {
  return PrintAll<PoolSettings>(
      context, "/v1/pools", ParsePools,
      [](const PoolSettings& pool) { return Printable(pool.pool.name); },
      [&](const std::vector<PoolSettings>& pools) {
        std::vector<Pool> policies;
        for (const PoolSettings& pool : pools) policies.push_back(pool.pool);
        return PoolsText(policies, context.console.columns, context.console.colours);
      });
}

int SetPool(const Context& context, const PoolFlags& flags) {
  const Console& console = context.console;
  if (!CheckName(console, "a pool's", flags.name)) return kWrongUse;
  const auto volumes = FindVolumes(context.client, flags.name);
  if (!volumes) return Explain(console, context.client, volumes.error());
  ContainerPolicy policy = flags.policy;
  policy.volumes = *volumes;
  const auto body =
      context.client.Put("/v1/pools/" + PercentEncode(flags.name), FormatPoolPolicy(policy));
  if (!body) return Explain(console, context.client, body.error());
  const bool none = flags.policy == ContainerPolicy{};
  if (console.json) {
    console.Line(*body);
  } else if (console.quiet) {
    console.Line(flags.name);
  } else {
    console.Line("Pool " + flags.name + " demands of its containers: " +
                 (none ? "nothing beyond the defaults" : DemandsText(flags.policy)));
    console.Line("Machines learn it when they join next.");
  }
  return kDone;
}

int ListProjects(const Context& context) {
  return PrintAll<Project>(
      context, "/v1/projects", ParseProjects,
      [](const Project& project) { return Printable(project.name); },
      [&](const std::vector<Project>& projects) {
        return ProjectsText(projects, context.around.now_ms(), context.console.columns,
                            context.console.colours);
      });
}

int SetProject(const Context& context, const ProjectFlags& flags) {
  const Console& console = context.console;
  if (!CheckName(console, "a project's", flags.name)) return kWrongUse;
  std::optional<std::int64_t> log_bytes;
  if (!flags.log_bytes.empty()) {
    log_bytes = ParseSize(flags.log_bytes);
    if (!log_bytes) {
      console.ErrLine("--log-bytes: a size such as 100MiB is needed");
      return kWrongUse;
    }
  }
  // Before anything is set: two calls follow, and the first makes a project that is not there.
  const auto roles = ParseProjectRoles(FormatProjectRoles(flags.cloud_roles));
  if (!roles) {
    console.ErrLine(Wrap(roles.error().reason, console.columns));
    return kWrongUse;
  }
  auto limits = FindLimits(context.client, flags.name);
  if (!limits) return Explain(console, context.client, limits.error());
  limits->calls_per_second = flags.calls_per_second.value_or(limits->calls_per_second);
  limits->items = flags.items.value_or(limits->items);
  limits->log_bytes = log_bytes.value_or(limits->log_bytes);
  const auto body = PutProject(context.client, flags, *limits);
  if (!body) return Explain(console, context.client, body.error());
  if (console.json) {
    console.Line(*body);
  } else {
    console.Line(console.quiet
                     ? flags.name
                     : Wrap("Project " + flags.name + " may have: " + ProjectLimitsText(*limits),
                            console.columns));
    const bool says_roles = !flags.cloud_roles.empty() || flags.no_cloud_roles;
    if (!console.quiet && says_roles) {
      console.Line("Its jobs may be, to a cloud: " + RolesText(flags.cloud_roles));
    }
  }
  return kDone;
}

int ShowAudit(const Context& context, int limit) {
  const Console& console = context.console;
  std::vector<AuditRow> rows;
  std::string before;
  while (static_cast<int>(rows.size()) < limit) {
    const int want = std::min(limit - static_cast<int>(rows.size()), limits::kPageRows);
    const auto body = context.client.Get("/v1/audit?limit=" + std::to_string(want) +
                                         (before.empty() ? "" : "&before=" + before));
    if (!body) return Explain(console, context.client, body.error());
    auto page = ParseAudit(*body);
    if (!page) return Explain(console, context.client, page.error());
    if (console.json) console.Line(*body);
    for (AuditRow& row : page->rows) rows.push_back(std::move(row));
    before = PercentEncode(page->next);
    if (before.empty()) break;
  }
  if (console.json) return kDone;
  if (console.quiet) {
    for (const AuditRow& row : rows) console.Line(std::to_string(row.id));
    return kDone;
  }
  console.out(AuditText(rows, context.around.now_ms(), context.around.zone_s, console.columns,
                        console.colours));
  return kDone;
}

}  // namespace tidemill::cli
