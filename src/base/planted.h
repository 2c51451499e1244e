// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Errors that are planted in the code on purpose, to see whether the simulator finds them. A build
// has them only if it is made with TIDEMILL_PLANTS; in all others Planted is false for ever, and
// the compiler leaves nothing of it.
namespace tidemill {

enum class Plant : std::uint8_t {
  kNone,
  kNoFence,            // an outcome is taken from whoever names the lease
  kLateRefused,        // a session whose time is over is not listened to, though nobody ended it
  kReapUnlocked,       // the reaper ends what was over when it last looked
  kReportAdds,         // what is told again is counted again
  kNoLosses,           // nobody counts how often an item was lost
  kEndByCount,         // as many machines are ended as should be, but others
  kRelativeOrders,     // an order is 'so many more', not 'these'
  kBudgetAfter,        // a budget is looked at when it is spent
  kInterruptionTries,  // to be interrupted is an attempt
  kSmallStarves,       // small jobs get what large ones leave
  kIdleReset,          // work on one machine makes another one look busy
  kLostHeartbeats,     // of heartbeats that come together one is not written
  kPutDownTwice,       // time that another leader has put down is put down again
  kSeqOverwrites,      // a report takes the place of an earlier one of its number
  kCancelKeepsSome,    // a job is cancelled while something of it is leased
  kAnyEpoch,           // a plan is taken from one who does not lead any more
};

inline constexpr std::array<std::string_view, 17> kPlantNames = {"none",
                                                                 "no-fence",
                                                                 "late-refused",
                                                                 "reap-unlocked",
                                                                 "report-adds",
                                                                 "no-losses",
                                                                 "end-by-count",
                                                                 "relative-orders",
                                                                 "budget-after",
                                                                 "interruption-tries",
                                                                 "small-starves",
                                                                 "idle-reset",
                                                                 "lost-heartbeats",
                                                                 "put-down-twice",
                                                                 "seq-overwrites",
                                                                 "cancel-keeps-some",
                                                                 "any-epoch"};

#ifdef TIDEMILL_PLANTS
inline constexpr bool kHasPlants = true;
// Of this process; set before anything runs.
inline Plant planted = Plant::kNone;
inline bool Planted(Plant plant) { return planted == plant; }
#else
inline constexpr bool kHasPlants = false;
constexpr bool Planted(Plant /*plant*/) { return false; }
#endif

}  // namespace tidemill
