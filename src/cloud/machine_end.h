// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "cloud/machine_self.h"
#include "cloud/world.h"
#include "net/asio_loop.h"

namespace tidemill {

// Ends the machine that this is, for good. Loop thread only.
class MachineEnd {
 public:
  virtual ~MachineEnd() = default;  // a call under way is dropped: its `done` does not come
  // Calls `done` once, never from inside, when the end is on its way. Any error: it is not, and
  // something else must end the machine. May be called again.
  virtual void End(std::function<void(Result<void>)> done) = 0;
};

// By the group that made it, whose target falls by one: else it would make another in its place.
// With the machine's own credentials, which must be allowed that. Loop and random outlive it.
std::unique_ptr<MachineEnd> EndByGroup(AsioLoop& loop, Random& random, const CloudWorld& world,
                                       const MachineSelf& self);

}  // namespace tidemill
