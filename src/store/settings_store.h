// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/kept_spec.h"
#include "model/pool.h"
#include "model/queue.h"

namespace tidemill {

// The leader reads all queues of a project each second.
inline constexpr int kQueuesPerProject = 1000;
// Names of kept specs, and versions of one; whoever makes a version an hour has them for six weeks.
inline constexpr int kSpecsPerProject = 1000;
inline constexpr int kVersionsPerSpec = 1000;

// What operators set: the machines of pools, queues, and specs that are kept. As AccessStore: each
// call is one transaction and may be repeated; any thread; calls may block. Lists are by name.
class SettingsStore {
 public:
  virtual ~SettingsStore() = default;

  // --- pools ---

  // Of a pool that is there: AccessStore::PutPool makes one, with what it demands of containers,
  // and leaves its machines as they are. kNotFound: no such pool.
  virtual Result<PoolSettings> SetMachines(const std::string& project, const std::string& pool,
                                           const PoolMachines& machines) = 0;
  virtual Result<PoolSettings> FindPoolSettings(const std::string& project,
                                                const std::string& pool) = 0;
  virtual Result<std::vector<PoolSettings>> ListPoolSettings(const std::string& project,
                                                             const std::string& after,
                                                             int limit) = 0;
  // kNotFound. kConflict: it is the default pool, a queue names it, machines are in it, or join
  // tokens that are good lead to it.
  virtual Result<void> DropPool(const std::string& project, const std::string& pool) = 0;

  // --- queues ---

  // New, or another in its place. kNotFound: no such project. kInvalid: it names a pool that is not
  // there. kExhausted: too many.
  virtual Result<Queue> PutQueue(const std::string& project, const Queue& queue) = 0;
  virtual Result<Queue> FindQueue(const std::string& project, const std::string& name) = 0;
  virtual Result<std::vector<Queue>> ListQueues(const std::string& project,
                                                const std::string& after, int limit) = 0;
  virtual Result<void> DropQueue(const std::string& project, const std::string& name) = 0;

  // --- kept specs ---

  // The newest version, if it has this document; else the next one. kNotFound: no such project.
  // kExhausted: too many.
  virtual Result<KeptSpec> PutSpec(const std::string& project, const KeptSpec& spec) = 0;
  // The newest version if none is asked for.
  virtual Result<KeptSpec> FindSpec(const std::string& project, const std::string& name,
                                    std::optional<std::int32_t> version) = 0;
  // The newest version of each, without its document.
  virtual Result<std::vector<KeptSpec>> ListSpecs(const std::string& project,
                                                  const std::string& after, int limit) = 0;
  // All versions. A spec of this name that is put later begins with version 1.
  virtual Result<void> DropSpec(const std::string& project, const std::string& name) = 0;
};

}  // namespace tidemill
