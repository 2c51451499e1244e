// SPDX-License-Identifier: Apache-2.0
// What operators set, as maps.
#include <algorithm>

#include "store/memory/memory_store.h"
#include "store/rules.h"
#include "store/settings_rules.h"

namespace tidemill {
namespace {

// Rows of a project behind a name, in the order of names.
template <typename Row, typename Add>
void EachAfter(const std::map<std::pair<std::string, std::string>, Row>& rows,
               const std::string& project, const std::string& after, int limit, Add add) {
  int count = 0;
  for (auto it = rows.upper_bound({project, after}); it != rows.end(); ++it) {
    if (it->first.first != project || count == limit) break;
    add(it->second);
    ++count;
  }
}

template <typename Row>
std::int64_t CountOthers(const std::map<std::pair<std::string, std::string>, Row>& rows,
                         const std::string& project, const std::string& name) {
  return std::count_if(rows.begin(), rows.end(), [&](const auto& entry) {
    return entry.first.first == project && entry.first.second != name;
  });
}

}  // namespace

// --- pools ---

PoolSettings MemoryStore::SettingsOf(const Pool& pool) const {
  const auto found = machines_.find({pool.project, pool.name});
  return {pool, found == machines_.end() ? PoolMachines{} : found->second};
}

Result<PoolSettings> MemoryStore::SetMachines(const std::string& project, const std::string& pool,
                                              const PoolMachines& machines) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find({project, pool});
  if (found == pools_.end()) return NoSuchPool(pool);
  machines_[{project, pool}] = machines;
  return SettingsOf(found->second);
}

Result<PoolSettings> MemoryStore::FindPoolSettings(const std::string& project,
                                                   const std::string& pool) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find({project, pool});
  if (found == pools_.end()) return NoSuchPool(pool);
  return SettingsOf(found->second);
}

Result<std::vector<PoolSettings>> MemoryStore::ListPoolSettings(const std::string& project,
                                                                const std::string& after,
                                                                int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<PoolSettings> list;
  EachAfter(pools_, project, after, limit,
            [&](const Pool& pool) { list.push_back(SettingsOf(pool)); });
  return list;
}

Result<void> MemoryStore::DropPool(const std::string& project, const std::string& pool) {
  const std::lock_guard lock(mutex_);
  if (!pools_.contains({project, pool})) return NoSuchPool(pool);
  if (pool == kDefaultPool) return IsDefaultPool();
  for (const auto& [key, queue] : queues_) {
    const auto& names = queue.pools;
    const bool named = std::find(names.begin(), names.end(), pool) != names.end();
    if (key.first == project && named) return PoolOfQueue(pool, queue.name);
  }
  for (const auto& [id, row] : sessions_.live()) {
    const Session& session = row->session;
    if (session.project == project && session.pool == pool) return PoolHasMachines(pool);
  }
  const auto is_of_it = [&](const auto& entry) {
    return entry.first.project == project && entry.first.pool == pool;
  };
  for (const auto& entry : machine_rows_) {
    if (is_of_it(entry) && entry.second.state != MachineState::kGone) return PoolHasMachines(pool);
  }
  const auto leads_to_it = [&](const Token& token) {
    return token.kind == TokenKind::kJoin && token.pool == pool && token.project == project &&
           IsGoodNow(token);
  };
  for (const auto& [id, row] : tokens_) {
    const bool is_a_persons = row.token.made_by != kAutoscaler;
    if (leads_to_it(row.token) && is_a_persons) return PoolHasTokens(pool);
  }
  for (auto& [id, row] : tokens_) {
    if (leads_to_it(row.token)) row.token.revoked_ms = NowMs();
  }
  pools_.erase({project, pool});
  machines_.erase({project, pool});
  pool_marks_.erase({project, pool});
  std::erase_if(machine_rows_, is_of_it);
  return {};
}

// --- queues ---

Result<Queue> MemoryStore::PutQueue(const std::string& project, const Queue& queue) {
  const std::lock_guard lock(mutex_);
  if (!HasProject(project)) return NoSuchProject(project);
  for (const std::string& pool : queue.pools) {
    if (!pools_.contains({project, pool})) return NoPoolForQueue(queue.name, pool);
  }
  if (CountOthers(queues_, project, queue.name) >= kQueuesPerProject) return TooManyQueues();
  queues_[{project, queue.name}] = queue;
  return queue;
}

Result<Queue> MemoryStore::FindQueue(const std::string& project, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find({project, name});
  if (found == queues_.end()) return NoSuchQueue(name);
  return found->second;
}

Result<std::vector<Queue>> MemoryStore::ListQueues(const std::string& project,
                                                   const std::string& after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Queue> list;
  EachAfter(queues_, project, after, limit, [&](const Queue& queue) { list.push_back(queue); });
  return list;
}

Result<void> MemoryStore::DropQueue(const std::string& project, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (queues_.erase({project, name}) == 0) return NoSuchQueue(name);
  return {};
}

// --- kept specs ---

Result<KeptSpec> MemoryStore::PutSpec(const std::string& project, const KeptSpec& spec) {
  const std::lock_guard lock(mutex_);
  if (!HasProject(project)) return NoSuchProject(project);
  if (CountOthers(specs_, project, spec.name) >= kSpecsPerProject) return TooManySpecs();
  std::vector<KeptSpec>& versions = specs_[{project, spec.name}];
  if (!versions.empty() && versions.back().document == spec.document) return versions.back();
  if (std::ssize(versions) >= kVersionsPerSpec) return TooManyVersions(spec.name);
  versions.push_back(spec);
  versions.back().version = static_cast<std::int32_t>(versions.size());
  versions.back().created_ms = NowMs();
  return versions.back();
}

Result<KeptSpec> MemoryStore::FindSpec(const std::string& project, const std::string& name,
                                       std::optional<std::int32_t> version) {
  const std::lock_guard lock(mutex_);
  const auto found = specs_.find({project, name});
  if (found == specs_.end()) return NoSuchSpec(name);
  const std::vector<KeptSpec>& versions = found->second;
  if (!version) return versions.back();
  if (*version < 1 || *version > std::ssize(versions)) return NoSuchVersion(name, *version);
  return versions[static_cast<std::size_t>(*version - 1)];
}

Result<std::vector<KeptSpec>> MemoryStore::ListSpecs(const std::string& project,
                                                     const std::string& after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<KeptSpec> list;
  EachAfter(specs_, project, after, limit, [&](const std::vector<KeptSpec>& versions) {
    list.push_back(versions.back());
    list.back().document.clear();
  });
  return list;
}

Result<void> MemoryStore::DropSpec(const std::string& project, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (specs_.erase({project, name}) == 0) return NoSuchSpec(name);
  return {};
}

}  // namespace tidemill
