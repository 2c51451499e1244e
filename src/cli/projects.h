// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/access.h"

// What admins set and read: pools, projects, and who did what.
namespace tidemill::cli {

struct PoolFlags {
  std::string name;
  bool usual = false;  // nothing beyond the defaults
  ContainerPolicy policy;
};

struct ProjectFlags {
  std::string name;
  // What is not given stays as it is.
  std::optional<std::int32_t> calls_per_second;
  std::optional<std::int64_t> items;
  std::string log_bytes;                 // as "100MiB"; empty: not given
  std::vector<std::string> cloud_roles;  // all that its jobs may have; empty: not given
  bool no_cloud_roles = false;
};

// "no network, firewall"; "-" for none
std::string DemandsText(const ContainerPolicy& policy);
// "models = /srv/models read-only"; "-" for none
std::string VolumesText(const Volumes& volumes);
std::string PoolsText(const std::vector<Pool>& pools, std::size_t width, bool colours);
std::string ProjectsText(const std::vector<Project>& projects, std::int64_t now_ms,
                         std::size_t width, bool colours);
std::string AuditText(const std::vector<AuditRow>& rows, std::int64_t now_ms, std::int64_t zone_s,
                      std::size_t width, bool colours);

// tidemill pool list, set
int ListPools(const Context& context);
int SetPool(const Context& context, const PoolFlags& flags);
// tidemill project list, set
int ListProjects(const Context& context);
int SetProject(const Context& context, const ProjectFlags& flags);
// tidemill audit
int ShowAudit(const Context& context, int limit);

}  // namespace tidemill::cli
