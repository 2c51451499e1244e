// SPDX-License-Identifier: Apache-2.0
// What a call takes must not grow with all that is stored. The figures are for people; the test
// compares two sizes on the same machine by the processor's time, in rounds that alternate, so that
// what else the machine does meanwhile meets both.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/random.h"
#include "store/memory/memory_store.h"
#include "store/rules.h"
#include "store/store_testing.h"

namespace tidemill {
namespace {

// Machines that hold leases of a large job, beside jobs that are over.
class Crowd {
 public:
  struct Size {
    int machines = 0;
    int jobs_over = 0;
    std::int64_t items = 0;
  };
  explicit Crowd(const Size& size) : job_(Submit("large", size.items)) {
    for (int i = 0; i < size.jobs_over; ++i) MakeOver(Submit(std::to_string(i), 1));
    for (int i = 0; i < size.machines; ++i) Join(i);
    for (int lease = 0; lease < kLeases; ++lease) {
      for (std::size_t i = 0; i < agents_.size(); ++i) Sync(i, false);
    }
    Must(store_.SeeMachines({}));
  }
  MemoryStore& store() { return store_; }

  // One agent has done all of a lease, and gets another.
  void SyncNext() { Sync(next_++ % agents_.size(), true); }
  // The same, and a check of what it has changed.
  void SyncAndCheck() {
    SyncNext();
    for (const ChunkKey& key : store_.TakeTouched()) {
      EXPECT_TRUE(CheckChunk(store_.DumpChunk(key)).empty());
    }
  }

 private:
  static constexpr int kLeases = 4;
  static constexpr int kLeaseItems = 8;
  struct Agent {
    SessionId session;
    std::vector<Lease> held;  // the oldest first
  };

  JobId Submit(const std::string& key, std::int64_t items) {
    NewJob job = JobOf(key);
    job.project = std::string(kDefaultProject);
    const JobId id = Must(store_.CreateJob(job)).id;
    Must(store_.AddPart(id, RangeOf(0, items)));
    Must(store_.SealJob(id, 1));
    return id;
  }
  void MakeOver(JobId id) {
    Must(store_.CancelJob(id));
    Must(store_.SweepJob(id));
  }
  void Join(int number) {
    NewSession session;
    session.id = random_.NewId<SessionId>();
    session.machine = "machine-" + std::to_string(number);
    session.project = std::string(kDefaultProject);
    session.pool = std::string(kDefaultPool);
    session.shape = {32000, 64 * kGiB, {}};
    session.life = kLong;
    session.machine_key = "key";
    session.token = kToken;
    agents_.push_back({Must(store_.Join(session)).id, {}});
  }
  void Sync(std::size_t number, bool settle) {
    Agent& agent = agents_[number];
    Exchange exchange;
    SyncOrder& order = exchange.syncs.emplace_back();
    order.session = agent.session;
    order.token = kToken;
    order.life = kLong;
    for (const Lease& lease : agent.held) order.known.push_back(lease.id);
    if (settle) {
      const Lease& done = agent.held.front();
      order.settlements.push_back(
          Settle(done.id, {.ok = done.mine.Resized(limits::kItemsPerChunk)}));
    }
    order.asks.push_back({job_, kLeaseItems, random_.NewId<LeaseId>()});
    const ExchangeResult result = Must(store_.Run(exchange));
    if (settle) agent.held.erase(agent.held.begin());
    agent.held.push_back(result.syncs.at(0).grants.at(0).lease);
  }

  std::int64_t now_us_ = 1'700'000'000'000'000;
  MemoryStore store_{[this] { return now_us_; }};
  SeededRandom random_{1};
  JobId job_;
  std::vector<Agent> agents_;
  std::size_t next_ = 0;
};

double CpuUs(int calls, const std::function<void()>& call) {
  const std::clock_t begin = std::clock();
  for (int i = 0; i < calls; ++i) call();
  return static_cast<double>(std::clock() - begin) * 1e6 / CLOCKS_PER_SEC / calls;
}

using StoreCall = std::function<void(Crowd&)>;

// Microseconds of one call with little and with much that is stored; the least of some rounds is
// what the call itself takes.
struct Growth {
  double small = std::numeric_limits<double>::max();
  double large = small;
};
Growth Measure(const char* what, Crowd& small, Crowd& large, int calls, const StoreCall& call) {
  Growth growth;
  for (int round = 0; round < 10; ++round) {
    growth.small = std::min(growth.small, CpuUs(calls, [&] { call(small); }));
    growth.large = std::min(growth.large, CpuUs(calls, [&] { call(large); }));
  }
  std::printf("%s: %.1f us, with 16 times as much stored %.1f us\n", what, growth.small,
              growth.large);
  return growth;
}

// Sixteen times as much is stored: a call that looks at all of it takes sixteen times as long, one
// that does not takes as long as before, but for caches and depths of trees. `slack_us` is for
// calls of few microseconds.
void ExpectNoGrowth(const Growth& growth, double slack_us = 0) {
  EXPECT_LT(growth.large, 4 * growth.small + slack_us);
}

TEST(MemorySpeed, DoesNotGrowWithWhatIsStored) {
  // Of both jobs ListRunnable counts as many chunks as it ever does.
  const std::int64_t items = 2 * kFreeSampleChunks * limits::kItemsPerChunk;
  Crowd small({.machines = 125, .jobs_over = 100, .items = items});
  Crowd large({.machines = 2000, .jobs_over = 1600, .items = 16 * items});
  const auto measure = [&](const char* what, int calls, const StoreCall& call) {
    return Measure(what, small, large, calls, call);
  };
  ExpectNoGrowth(measure("sync", 200, [](Crowd& crowd) { crowd.SyncNext(); }));
  small.store().WatchTouched();
  large.store().WatchTouched();
  ExpectNoGrowth(measure("sync, checked", 200, [](Crowd& crowd) { crowd.SyncAndCheck(); }));
  ExpectNoGrowth(
      measure("list runnable", 50, [](Crowd& crowd) { Must(crowd.store().ListRunnable(100)); }), 2);
  ExpectNoGrowth(
      measure("list sweepable", 50, [](Crowd& crowd) { Must(crowd.store().ListSweepable(100)); }),
      1);
  // These look at all machines.
  measure("snapshots", 2, [](Crowd& crowd) { Must(crowd.store().ReadSnapshots()); });
  measure("plan", 2, [](Crowd& crowd) { Must(crowd.store().ReadPlan()); });
  measure("see machines", 2, [](Crowd& crowd) { Must(crowd.store().SeeMachines({})); });
  measure("reap", 10, [](Crowd& crowd) { Must(crowd.store().Reap(20)); });
}

}  // namespace
}  // namespace tidemill
