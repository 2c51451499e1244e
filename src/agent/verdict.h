// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "model/outcome.h"
#include "model/spec.h"

namespace tidemill {

// Why the agent ended a run.
enum class StopWhy : std::uint8_t {
  kNone,          // it did not
  kLeaseGone,     // it is another's by now, or nobody's
  kInterrupted,   // the agent leaves
  kMachineFault,  // this machine cannot run it
  kDisk,          // it has written more than it may
  kMoved,         // its container had to end for another's sake
};

// What an end of a run means for its item.
struct Verdict {
  enum class Next : std::uint8_t {
    kTell,   // this attempt is over, with this cause
    kBack,   // it had not begun: another machine's
    kAgain,  // it did not run after all: waits here
    kAlone,  // the same, and runs with no other beside it
  };
  Next next = Next::kTell;
  Cause cause = Cause::kSucceeded;
  bool final = false;  // must not be tried again, whatever retries are left
  bool operator==(const Verdict&) const = default;
};

// The engine's word is init's record; what the agent itself did to the run comes first.
Verdict JudgeEnd(const RunSpec& spec, const ItemEnd& end, StopWhy why);

}  // namespace tidemill
