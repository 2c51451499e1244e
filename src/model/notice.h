// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/loop.h"

namespace tidemill {

// What a cloud says beforehand of the end of a machine.
struct Notice {
  enum class Kind : std::uint8_t {
    kRebalance,     // it may be taken away soon; or not
    kInterruption,  // it is taken away at `until`
    kEnding,        // its group ends it, at a time that nobody tells
  };
  Kind kind = Kind::kRebalance;
  TimePoint until = {};  // of an interruption
  bool operator==(const Notice&) const = default;
};

}  // namespace tidemill
