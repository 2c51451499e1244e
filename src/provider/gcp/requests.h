// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/pool.h"
#include "provider/gcp/names.h"
#include "wire/gcp_json.h"
#include "wire/tree.h"

namespace tidemill {

// What Compute is asked, as it wants it. Pure.

// Google takes no more instances in one call.
inline constexpr std::size_t kGcpBatch = 1'000;
// And gives no more in one page.
inline constexpr int kGcpPageRows = 500;

struct GcpTemplate {
  std::string name;
  Tree body;
};
// What the machines of a pool are.
GcpTemplate TemplateFor(const PoolSettings& settings, const GcpPool& pool, const GcpNames& names);

// An empty group that makes and ends nothing by itself.
Tree GroupBody(const GcpPool& pool, const GcpNames& names, const std::string& template_name);
Tree SetTemplateBody(const GcpPool& pool, const std::string& template_name);
Tree CreateInstancesBody(const std::vector<std::string>& instances);
// Those that the group does not have, or has begun to delete, are passed over.
Tree DeleteInstancesBody(const GcpPool& pool, const std::vector<std::string>& instances);

// Paths from the project's on.
std::string ZonePath(const GcpPool& pool);
std::string GroupsPath(const GcpPool& pool);
// Of the pool's own group, or of the one that it adopts.
std::string GroupPath(const GcpPool& pool, const GcpNames& names);
std::string TemplatePath(const std::string& template_name);

// Queries that list what is of a pool.
std::string ManagedQuery();
std::string InstancesQuery(const GcpNames& names);
std::string TemplatesQuery(const GcpNames& names);
// The newest first.
std::string OperationsQuery(const GcpNames& names);

}  // namespace tidemill
