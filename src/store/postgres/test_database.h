// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/postgres/postgres_store.h"
#include "store/store_testing.h"

namespace tidemill {

// A database of its own in the cluster of TIDEMILL_TEST_PG, with our tables, dropped in the end.
// Commits do not wait for the disk: these tests are not about durability. One thread.
class TestDatabase {
 public:
  // One whose clock stands still hides clock_timestamp() behind a function of its own; all our
  // statements take their time from there.
  enum class Clock { kRuns, kStill };
  using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
  explicit TestDatabase(Clock clock = Clock::kRuns);
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& conninfo() const { return conninfo_; }
  // Empties all tables and numbers jobs from 1 again: quicker than another database.
  void Clean();
  // SQL of any kind; the answer's cells as text, row by row.
  std::vector<std::string> Sql(const std::string& sql);
  // Of a clock that stands still, since 1970.
  void SetClock(std::int64_t now_us);

 private:
  std::string name_;
  std::string conninfo_;
  Connection connection_{nullptr, &PQfinish};  // kept: to open one costs more than most statements
};

// The one that tests share which leave nothing behind but rows.
TestDatabase& SharedDatabase();
// The same, with a clock that stands still.
TestDatabase& StillDatabase();

}  // namespace tidemill
