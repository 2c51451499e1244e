// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "base/id.h"

namespace tidemill {

// A lease's id is its fence: random, never used again, compared for equality only.
using LeaseId = Id<struct LeaseTag>;
using SessionId = Id<struct SessionTag>;

struct JobId {
  std::int64_t number = 0;
  auto operator<=>(const JobId&) const = default;
};

struct ChunkKey {
  JobId job;
  std::int32_t chunk = 0;
  auto operator<=>(const ChunkKey&) const = default;
};

}  // namespace tidemill

template <>
struct std::hash<tidemill::JobId> {
  std::size_t operator()(const tidemill::JobId& id) const noexcept {
    return static_cast<std::size_t>(id.number);
  }
};
