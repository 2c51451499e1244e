// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/loop.h"

namespace tidemill {

// Says whether sessions may be reaped. Agents are silent when they are gone, but also when the
// servers or the database were: after such an outage, and after a jump of the database's clock,
// nothing expires for one whole session life, so that everybody has had the time to be heard.
class ExpiryGuard {
 public:
  // A server that has just started knows nothing of the time before it.
  ExpiryGuard(TimePoint now, Duration session_life);

  // The store has answered, and its clock says `clock_us`.
  void Heard(TimePoint now, std::int64_t clock_us);
  // Syncs could not be carried out, though the store may have answered: agents were not heard.
  void Postpone(TimePoint now) { not_before_ = now + session_life_; }
  bool MayReap(TimePoint now) const;

 private:
  const Duration session_life_;
  TimePoint not_before_;
  TimePoint last_heard_;
  std::optional<std::int64_t> last_clock_us_;
};

}  // namespace tidemill
