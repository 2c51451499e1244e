// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "provider/fake_provider.h"
#include "sim/plan.h"
#include "sim/store_checker.h"
#include "store/memory/memory_store.h"

namespace tidemill {

// What must hold of machines and money: never more machines than may be, none ended that works,
// none left that does not, no budget passed by more than was said, and the accounts are the bill.
class FleetChecker {
 public:
  struct Deps {
    MemoryStore& store;
    const FakeProvider& provider;
    const SimPlan& plan;
    std::function<TimePoint()> clock;
    OnBreach breach;
  };
  explicit FleetChecker(Deps deps) : deps_(std::move(deps)) {}

  // A provider is asked to end these.
  void OnEnd(const PoolSettings& pool, const std::vector<std::string>& names);
  void EverySecond();
  // Comes often when there are no faults any more: nothing may be left lying about.
  void CheckHealthy();
  // All jobs are over for long: what is left?
  void CheckEnd();

 private:
  void CheckBudgets(const Snapshot& snapshot);
  void CheckStarved(const Snapshot& snapshot);
  void CheckIdle(const Snapshot& snapshot);
  Snapshot Read();

  const Deps deps_;
  std::map<JobId, TimePoint> starved_since_;
  std::map<std::string, TimePoint> idle_since_;
};

}  // namespace tidemill
