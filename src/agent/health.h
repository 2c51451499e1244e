// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/deps.h"
#include "base/loop.h"
#include "base/result.h"

namespace tidemill {

// A fault of the machine, and not of what it was to run: its disk is full or broken.
bool IsMachineFault(const Error& error);

// Whether a machine takes items. After a fault it takes none for a while; after two in a row, with
// nothing that worked in between, for much longer. A value.
class Health {
 public:
  explicit Health(const AgentLimits& limits)
      : first_(limits.fault_rest), later_(limits.away_rest) {}

  // False: it rests already.
  bool OnFault(TimePoint now, const std::string& reason);
  // A container was opened.
  void OnWorks() { faults_ = 0; }
  bool rests(TimePoint now) const { return now < until_; }
  // Why it does; empty: it does not.
  std::string Reason(TimePoint now) const { return rests(now) ? reason_ : std::string(); }

 private:
  Duration first_;
  Duration later_;
  int faults_ = 0;  // since something worked
  TimePoint until_{};
  std::string reason_;
};

}  // namespace tidemill
