// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/snapshot.h"

namespace tidemill {

// Finds what a snapshot names, and counts once what all decisions need of its machines. Refers to
// the snapshot, which outlives it.
class SnapshotIndex {
 public:
  explicit SnapshotIndex(const Snapshot& snapshot);

  const Snapshot& snapshot() const { return snapshot_; }
  std::optional<std::size_t> FindQueue(std::string_view name) const { return Find(queues_, name); }
  std::optional<std::size_t> FindPool(std::string_view name) const { return Find(pools_, name); }
  std::optional<std::size_t> FindJob(JobId id) const;
  std::optional<std::size_t> PoolOf(std::size_t machine) const { return pool_of_[machine]; }

  // The different machines of a pool: those that could be ordered, and those that have joined.
  const std::vector<Resources>& Shapes(std::size_t pool) const { return shapes_[pool]; }
  // What stands for all of them where a price is shared out. Nothing: there never was one.
  const Resources* Shape(std::size_t pool) const;

  // Slots that are in use, by pool; also on machines that drain.
  const std::map<std::size_t, std::int64_t>& Running(std::size_t job) const {
    return running_[job];
  }
  std::int64_t RunningTotal(std::size_t job) const;

  // Whether no machine of the pool that is there can run anything of the job at the moment.
  bool RestsEverywhere(std::size_t job, std::size_t pool) const;

  // Machines of a pool that are not gone, also those that drain: all that are, or will be, billed.
  std::int64_t Alive(std::size_t pool) const { return alive_[pool]; }
  // Those of them that work, or will: not those that drain.
  std::int64_t Coming(std::size_t pool) const { return coming_[pool]; }

 private:
  using Names = std::unordered_map<std::string_view, std::size_t>;
  static std::optional<std::size_t> Find(const Names& names, std::string_view name);

  const Snapshot& snapshot_;
  Names queues_;
  Names pools_;
  std::unordered_map<JobId, std::size_t> jobs_;
  std::vector<std::optional<std::size_t>> pool_of_;
  std::vector<std::vector<Resources>> shapes_;
  std::vector<Resources> ordered_;  // the shape of a pool's next machine
  std::vector<std::map<std::size_t, std::int64_t>> running_;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t>
      resting_;  // machines, by job and pool
  std::vector<std::int64_t> joined_;
  std::vector<std::int64_t> alive_;
  std::vector<std::int64_t> coming_;
};

}  // namespace tidemill
