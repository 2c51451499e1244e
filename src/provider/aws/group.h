// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"

namespace tidemill {

// The tags by which what is ours is known. The last is an instance's only.
inline constexpr char kProjectTag[] = "tidemill-project";
inline constexpr char kPoolTag[] = "tidemill-pool";
inline constexpr char kMachineTag[] = "tidemill-machine";

// The Auto Scaling group of a pool.
struct AwsGroup {
  std::string region = {};
  std::string name = {};
  std::string project = {};
  std::string pool = {};
  bool adopted = false;  // it was there before: only used, never changed or deleted
};

// An instance as EC2 and its group say it is.
struct AwsInstance {
  enum class State {
    kThere,    // it runs, or will in a moment
    kStopped,  // by somebody; it does not come back by itself
    kEnding,
    kEnded,
    kUnknown,  // the group has it, but EC2 does not tell (yet, or any more)
  };
  enum class Place {
    kOutside,  // of the group
    kMember,   // and counts for its target
    kLeaving,  // and counts no more
  };
  std::string id = {};
  std::string name = {};  // of the machine that it is; empty: of none yet
  State state = State::kThere;
  Place place = Place::kOutside;
  bool unhealthy = false;  // as its group says
  TimePoint since{};
  std::optional<TimePoint> ended = {};  // if EC2 tells when
  bool operator==(const AwsInstance&) const = default;
};

// All that is there of a pool, at one moment.
struct AwsView {
  bool exists = false;  // the group
  bool ours = false;    // it has the tags of the pool
  std::int64_t max = 0;
  std::int64_t target = 0;
  std::vector<AwsInstance> instances = {};  // by id
};

// What a group has tried to do.
struct AwsActivity {
  std::string id = {};
  bool failed = false;
  bool under_way = false;
  std::string words = {};
};

}  // namespace tidemill
