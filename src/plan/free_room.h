// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "plan/claims.h"
#include "plan/index.h"
#include "plan/pool_room.h"

namespace tidemill {

// What is free at the moment on machines that have joined.
class FreeRoom {
 public:
  // `reserved`: machine -> claim; they are left out.
  FreeRoom(const SnapshotIndex& index, const std::vector<Claim>& claims,
           const std::map<std::size_t, std::size_t>& reserved);

  std::int64_t Place(std::size_t claim, std::size_t pool, std::int64_t slots) {
    return slots <= 0 ? 0 : room_.Place(pool, kinds_[claim], slots).slots;
  }
  PoolRoom& room() { return room_; }

 private:
  PoolRoom room_;
  std::vector<std::size_t> kinds_;  // of each claim
};

// Adds the machines of pools that are not disabled, as if nothing ran on them.
struct JoinedMachines {
  std::int64_t machines = 0;
  Resources total{.millicpus = 0};
};
JoinedMachines AddJoined(const SnapshotIndex& index, PoolRoom& room);

struct FreeOn {
  Resources free;
  bool empty = false;
};
// Nothing is free where something runs that the snapshot does not know.
FreeOn FreeOf(const SnapshotIndex& index, const PlanMachine& machine);

}  // namespace tidemill
