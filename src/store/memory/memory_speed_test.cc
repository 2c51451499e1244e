// SPDX-License-Identifier: Apache-2.0
// What a call takes must not grow with all that is stored. The figures are for people; the test
// compares two sizes on the same machine, by the processor's time and the best of several rounds,
// so that a busy machine does not fail it.
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

// Microseconds of one call: the best of some rounds.
double Measure(int calls, const std::function<void()>& call) {
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < 10; ++round) {
    const std::clock_t begin = std::clock();
    for (int i = 0; i < calls; ++i) call();
    const auto took = static_cast<double>(std::clock() - begin);
    best = std::min(best, took * 1e6 / CLOCKS_PER_SEC / calls);
  }
  return best;
}

struct Times {
  double sync = 0;
  double checked = 0;  // with a check of what it has changed
  double runnable = 0;
  double sweepable = 0;
  double snapshots = 0;
  double plan = 0;
  double see = 0;
  double reap = 0;
};

Times TimesOf(const Crowd::Size& size) {
  Crowd crowd(size);
  MemoryStore& store = crowd.store();
  Times times;
  times.sync = Measure(200, [&] { crowd.SyncNext(); });
  store.WatchTouched();
  times.checked = Measure(200, [&] { crowd.SyncAndCheck(); });
  times.runnable = Measure(50, [&] { Must(store.ListRunnable(100)); });
  times.sweepable = Measure(50, [&] { Must(store.ListSweepable(100)); });
  times.snapshots = Measure(2, [&] { Must(store.ReadSnapshots()); });
  times.plan = Measure(2, [&] { Must(store.ReadPlan()); });
  times.see = Measure(2, [&] { Must(store.SeeMachines({})); });
  times.reap = Measure(10, [&] { Must(store.Reap(20)); });
  std::printf(
      "%lld items, %d machines, %d jobs over: microseconds of a sync %.1f, checked %.1f, runnable "
      "%.1f, "
      "sweepable %.1f, snapshots %.0f, plan %.0f, see machines %.0f, reap %.1f\n",
      static_cast<long long>(size.items), size.machines, size.jobs_over, times.sync, times.checked,
      times.runnable, times.sweepable, times.snapshots, times.plan, times.see, times.reap);
  return times;
}

TEST(MemorySpeed, DoesNotGrowWithWhatIsStored) {
  // Of both jobs ListRunnable counts as many chunks as it ever does.
  const std::int64_t items = 2 * kFreeSampleChunks * limits::kItemsPerChunk;
  const Times small = TimesOf({.machines = 125, .jobs_over = 100, .items = items});
  const Times large = TimesOf({.machines = 2000, .jobs_over = 1600, .items = 16 * items});
  EXPECT_LT(large.sync, 4 * small.sync);
  EXPECT_LT(large.checked, 4 * small.checked);
  EXPECT_LT(large.runnable, 4 * small.runnable + 2);
  EXPECT_LT(large.sweepable, 4 * small.sweepable + 1);
}

}  // namespace
}  // namespace tidemill
