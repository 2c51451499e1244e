// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "engine/fake/fake_engine.h"
#include "model/ids.h"

namespace tidemill {

struct PlayedItem {
  FakeRun run;
  bool kills_machine = false;  // when it would end
};

// What items do when they are run; one for all machines of a run.
class ItemPlay {
 public:
  virtual ~ItemPlay() = default;
  // The item begins on the machine now.
  virtual PlayedItem Begin(const std::string& machine, JobId job, std::int64_t item) = 0;
  // The machine's agent is gone, with all that it ran.
  virtual void Gone(const std::string& /*machine*/) {}
  // It has killed the machine.
  virtual void Kill(JobId /*job*/, std::int64_t /*item*/) {}
};

}  // namespace tidemill
