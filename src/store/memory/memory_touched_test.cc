// SPDX-License-Identifier: Apache-2.0
// After random calls: every chunk of which something has changed is named, what is counted is what
// is there, and a chunk by itself shows what the whole state shows of it.
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "store/memory/memory_store.h"
#include "store/store_testing.h"

namespace tidemill {
namespace {

// What is stored of each chunk, as one comparable value.
struct Shown {
  JobState job_state = JobState::kDraft;
  StoredChunk stored;
  std::vector<Lease> leases;
  std::vector<Rest> rests;
  std::vector<Report> reports;
  std::vector<ChunkStat> stats;
  std::set<SessionId> dead;
  bool operator==(const Shown&) const = default;
};
using Picture = std::map<ChunkKey, Shown>;

Picture PictureOf(const StoreState& state) {
  std::set<SessionId> alive;
  for (const Session& session : state.sessions) {
    if (session.state != SessionState::kDead) alive.insert(session.id);
  }
  Picture picture;
  for (const JobDump& dump : state.jobs) {
    const JobId job = dump.job.id;
    const JobState over = dump.job.state;
    const bool is_over = over == JobState::kFinished || over == JobState::kCancelled;
    for (const StoredChunk& stored : dump.chunks) {
      picture[stored.chunk.key].stored = stored;
      // Only the end of a job concerns its chunks.
      picture[stored.chunk.key].job_state = is_over ? over : JobState::kActive;
    }
    for (const Lease& lease : dump.leases) {
      Shown& shown = picture[lease.chunk];
      shown.leases.push_back(lease);
      if (!alive.contains(lease.session)) shown.dead.insert(lease.session);
    }
    for (const Rest& rest : dump.rests) picture[{job, rest.chunk}].rests.push_back(rest);
    for (const Report& report : dump.reports) picture[report.chunk].reports.push_back(report);
    for (const ChunkStat& stat : dump.stats) picture[stat.chunk].stats.push_back(stat);
  }
  return picture;
}

// Plays agents and people.
class Players {
 public:
  explicit Players(std::uint64_t seed) : random_(seed) { store_.WatchTouched(); }
  MemoryStore& store() { return store_; }

  void Call() {
    now_us_ += Below(3'000'000);
    const int dice = Below(100);
    if (dice < 60) return Sync();
    if (dice < 70) return Submit();
    if (dice < 78) return (void)Must(store_.Reap(2));
    if (dice < 88) return (void)store_.SweepJob(AnyJob());
    if (dice < 92) return (void)store_.ReopenJob(AnyJob(), {});
    if (dice < 96) return (void)Must(store_.RollUp(2, JoinBodies));
    if (dice < 97) return (void)Must(store_.DropStale(std::chrono::minutes(5)));
    if (dice < 98) return (void)store_.CancelJob(AnyJob());
    (void)(dice < 99 ? store_.PauseJob(AnyJob(), "") : store_.ResumeJob(AnyJob()));
  }

 private:
  int Below(int bound) {
    return static_cast<int>(random_.Below(static_cast<std::uint64_t>(bound)));
  }
  JobId AnyJob() { return {1 + Below(std::max(1, jobs_))}; }

  void Submit() {
    if (jobs_ == 12) return;
    const JobShape shape{.retries = Below(3), .retry_wait = std::chrono::milliseconds(Below(2000))};
    const JobId id = Must(store_.CreateJob(JobOf(std::to_string(++jobs_), shape))).id;
    Must(store_.AddPart(id, PartOf(0, {1 + Below(20), 1 + Below(20)})));
    if (Below(10) > 0) Must(store_.SealJob(id, 1));
  }

  SessionId Join() {
    NewSession session;
    session.id = random_.NewId<SessionId>();
    session.machine = "m" + std::to_string(Below(1000));
    session.project = "p";
    session.pool = "pool";
    session.life = std::chrono::seconds(20);
    session.machine_key = "key";
    session.token = kToken;
    return Must(store_.Join(session)).id;
  }

  void Sync() {
    if (sessions_.size() < 8) sessions_.push_back(Join());
    const auto place = static_cast<std::size_t>(Below(static_cast<int>(sessions_.size())));
    Exchange exchange;
    SyncOrder& order = exchange.syncs.emplace_back();
    order.session = sessions_[place];
    order.token = kToken;
    order.life = std::chrono::seconds(1 + Below(30));
    order.leaving = Below(30) == 0;
    for (const auto& [id, lease] : held_[order.session]) {
      order.known.push_back(id);
      const Bits mine = lease.mine.Resized(limits::kItemsPerChunk);
      Settles what{.seq = Below(1'000'000)};
      (Below(2) == 0 ? what.ok : Below(2) == 0 ? what.failed : what.back) = mine.First(Below(6));
      if (Below(2) == 0) order.settlements.push_back(Settle(id, what));
    }
    order.asks.push_back({AnyJob(), 1 + Below(12), random_.NewId<LeaseId>()});
    const SyncResult result = Must(store_.Run(exchange)).syncs.at(0);
    if (result.lost || order.leaving) {
      held_.erase(order.session);
      sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(place));
      return;
    }
    for (const LeaseId& id : result.gone) held_[order.session].erase(id);
    for (const Grant& grant : result.grants) held_[order.session][grant.lease.id] = grant.lease;
  }

  std::int64_t now_us_ = 1'700'000'000'000'000;
  MemoryStore store_{[this] { return now_us_; }};
  SeededRandom random_;
  int jobs_ = 0;
  std::vector<SessionId> sessions_;
  std::map<SessionId, std::map<LeaseId, Lease>> held_;
};

void ExpectTouched(const Picture& before, const Picture& after,
                   const std::vector<ChunkKey>& touched) {
  const std::set<ChunkKey> named(touched.begin(), touched.end());
  for (const auto& [key, shown] : after) {
    const auto found = before.find(key);
    if (found != before.end() && found->second == shown) continue;
    EXPECT_TRUE(named.contains(key)) << "chunk " << key.chunk << " of job " << key.job.number;
  }
}

void ExpectShown(MemoryStore& store, ChunkKey key, const Shown& shown) {
  const ChunkState state = store.DumpChunk(key);
  EXPECT_EQ(CheckChunk(state), std::vector<Breach>());
  EXPECT_TRUE(state.stored == shown.stored);
  EXPECT_TRUE(state.leases == shown.leases);
  EXPECT_TRUE(state.rests == shown.rests);
  EXPECT_TRUE(state.reports == shown.reports);
  EXPECT_TRUE(state.stats == shown.stats);
  EXPECT_TRUE(state.dead == shown.dead);
}

Counts CountsOf(const JobDump& dump) {
  Counts counts;
  for (const StoredChunk& stored : dump.chunks) {
    counts.total += stored.chunk.length();
    counts.succeeded += ItemsIn(stored.chunk, ItemState::kSucceeded).Count();
    counts.failed += ItemsIn(stored.chunk, ItemState::kFailed).Count();
    counts.running += ItemsIn(stored.chunk, ItemState::kRunning).Count();
    counts.waiting += ItemsIn(stored.chunk, ItemState::kWaiting).Count();
    counts.cancelled += ItemsIn(stored.chunk, ItemState::kCancelled).Count();
  }
  return counts;
}

TEST(MemoryTouched, NamesEveryChunkThatHasChanged) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Players players(seed);
    MemoryStore& store = players.store();
    Picture before;
    for (int call = 0; call < 300 && !testing::Test::HasFailure(); ++call) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(call));
      players.Call();
      const std::vector<ChunkKey> touched = store.TakeTouched();
      const StoreState state = Must(store.Dump({}, Bodies::kWithout));
      const Picture after = PictureOf(state);
      ExpectTouched(before, after, touched);
      for (const ChunkKey& key : touched) ExpectShown(store, key, after.at(key));
      for (const JobDump& dump : state.jobs) {
        const JobCounts counts = Must(store.CountItems(dump.job.id));
        EXPECT_EQ(counts.counts, CountsOf(dump));
        EXPECT_EQ(CheckCounts(counts), std::vector<Breach>());
      }
      before = after;
    }
  }
}

TEST(MemoryTouched, KeepsNothingUntilItIsToldTo) {
  std::int64_t now_us = 1;
  MemoryStore store([&] { return now_us; });
  const JobId first = Must(store.CreateJob(JobOf("first"))).id;
  Must(store.AddPart(first, PartOf(0, {4})));
  EXPECT_TRUE(store.TakeTouched().empty());
  store.WatchTouched();
  const JobId second = Must(store.CreateJob(JobOf("second"))).id;
  Must(store.AddPart(second, PartOf(0, {4, 4})));
  EXPECT_EQ(store.TakeTouched(), (std::vector<ChunkKey>{{second, 0}, {second, 1}}));
  EXPECT_TRUE(store.TakeTouched().empty());
}

}  // namespace
}  // namespace tidemill
