// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "model/retry.h"
#include "store/store_testing.h"

// Machines on which items fail that succeed elsewhere.
namespace tidemill {

TEST_P(StoreTest, AMachineIsBlamedForWhatSucceedsElsewhere) {
  const JobId job = Sealed({.chunks = {2}, .retries = 9});
  const Lease bad = Take(Joined(), job, 2);
  EXPECT_TRUE(Must(store().ListRecords()).empty());
  Tell(bad, {.failed = Upto(2)});
  EXPECT_TRUE(Must(store().ListRecords()).empty());
  const Lease good = Take(Joined(), job, 2);
  Tell(good, {.ok = Items({0}), .failed = Items({1})});
  // Its own success speaks against nobody.
  Age(kPreferOthers);
  Tell(Take(good.session, job, 1), {.ok = Items({1})});
  std::vector<Record> expected = {{bad.session, "p", "pool", 2, 1, false},
                                  {good.session, "p", "pool", 3, 0, false}};
  if (good.session < bad.session) std::swap(expected[0], expected[1]);
  EXPECT_EQ(Must(store().ListRecords()), expected);
}

TEST_P(StoreTest, NobodyIsBlamedForMemoryOrForTheDead) {
  const JobId job = Sealed({.chunks = {2}, .retries = 9, .memory = kGiB, .memory_max = 2 * kGiB});
  Tell(Take(Joined(), job, 1), {.memory = Items({0})});
  Tell(Take(Joined(), job, 1), {.ok = Items({0})});
  const SessionId gone = FailOne(job).session;
  SyncOrder leaves = From(gone);
  leaves.leaving = true;
  Run({leaves});
  Tell(Take(Joined(), job, 1), {.ok = Items({1})});
  EXPECT_TRUE(Must(store().ListRecords()).empty());
}

TEST_P(StoreTest, AMachineThatIsPutAsideDrainsAndSaysWhy) {
  const JobId job = Sealed({.chunks = {3}, .retries = 9});
  const SessionId bad = FailOne(job).session;
  Tell(Take(Joined(), job, 1), {.ok = Items({0})});
  Must(store().PutAside(bad, "items fail here that succeed elsewhere"));
  bool found = false;
  for (const ListedMachine& machine : Must(store().ListMachines({}))) {
    found = found || machine.session.id == bad;
    if (machine.session.id != bad) continue;
    EXPECT_EQ(machine.session.aside, "items fail here that succeed elsewhere");
    EXPECT_EQ(machine.session.state, SessionState::kDraining);
  }
  EXPECT_TRUE(found);
  for (const Record& record : Must(store().ListRecords())) {
    EXPECT_EQ(record.aside, record.session == bad);
  }
  EXPECT_TRUE(Sync(Asks(bad, job, 1)).draining);
  SyncOrder leaves = From(bad);
  leaves.leaving = true;
  Run({leaves});
  const StoreState before = All();
  Must(store().PutAside(bad, "again"));
  Must(store().PutAside({9, 9}, "nobody"));
  EXPECT_EQ(All(), before);
}

}  // namespace tidemill
