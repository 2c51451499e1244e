// SPDX-License-Identifier: Apache-2.0
#include "server/decided.h"

#include <utility>

namespace tidemill {

Decided::Decided(Snapshot from, TimePoint at)
    : snapshot(std::move(from)),
      index(snapshot),
      plan(MakePlan(index, at)),
      wanted(Autoscale(index, at)),
      now(at) {}

}  // namespace tidemill
