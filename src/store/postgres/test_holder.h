// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/postgres/postgres_store.h"
#include "store/postgres/test_database.h"
#include "store/store_testing.h"

namespace tidemill {

// On the database whose clock stands still.
class PostgresHolder : public StoreHolder {
 public:
  PostgresHolder() {
    StillDatabase().Clean();
    StillDatabase().SetClock(now_us_);
  }
  Store& store() override { return store_; }
  AccessStore& access() override { return store_; }
  LedgerStore& ledger() override { return store_; }
  NotifyStore& notify() override { return store_; }
  SettingsStore& settings() override { return store_; }
  PlanStore& plan() override { return store_; }
  StandingStore& standing() override { return store_; }
  void Age(Duration time) override {
    now_us_ += time.count();
    StillDatabase().SetClock(now_us_);
  }

 private:
  std::int64_t now_us_ = 1'700'000'000'000'000;
  PostgresStore store_{{StillDatabase().conninfo(), 2}};
};

}  // namespace tidemill
