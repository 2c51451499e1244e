// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/memory/memory_store.h"
#include "store/store_testing.h"

namespace tidemill {

class MemoryHolder : public StoreHolder {
 public:
  Store& store() override { return store_; }
  AccessStore& access() override { return store_; }
  LedgerStore& ledger() override { return store_; }
  NotifyStore& notify() override { return store_; }
  SettingsStore& settings() override { return store_; }
  PlanStore& plan() override { return store_; }
  StandingStore& standing() override { return store_; }
  void Age(Duration time) override { now_us_ += time.count(); }

 private:
  // A clock that stands still: nothing in the contract waits for time to pass.
  std::int64_t now_us_ = 1'700'000'000'000'000;
  MemoryStore store_{[this] { return now_us_; }};
};

}  // namespace tidemill
