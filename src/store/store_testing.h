// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "store/access_store.h"
#include "store/check.h"
#include "store/ledger_store.h"
#include "store/notify_store.h"
#include "store/plan_store.h"
#include "store/settings_store.h"
#include "store/standing_store.h"
#include "store/store.h"

// Short words for tests of stores. What a test does not name has a default.
namespace tidemill {

inline void PrintTo(const Bits& bits, std::ostream* out) {
  *out << bits.length() << ":";
  for (const int i : bits.Indexes()) *out << " " << i;
}

// The value, or the end of the test.
template <typename T>
T Must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(std::string(CodeName(result.error().code)) + ": " +
                             result.error().reason);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// What a call that must not succeed has answered.
template <typename T>
Code CodeOfFailed(const Result<T>& result) {
  if (result) throw std::runtime_error("it succeeded");
  return result.error().code;
}

// Offsets as a settlement has them.
inline Bits Items(std::initializer_list<int> offsets) {
  Bits bits(limits::kItemsPerChunk);
  for (const int offset : offsets) bits.Set(offset);
  return bits;
}
inline Bits Upto(int count) { return Bits::Range(limits::kItemsPerChunk, 0, count); }
// As a chunk of this length has them.
inline Bits In(int length, std::initializer_list<int> offsets) {
  return Items(offsets).Resized(length);
}

struct Settles {
  std::int32_t seq = 0;
  Bits ok = Items({});
  Bits failed = Items({});
  Bits back = Items({});
  std::string body = "body";
  Bits final = Items({});
  Bits memory = Items({});
  Bits begun = Items({});
};
inline Settlement Settle(LeaseId lease, const Settles& what) {
  Settlement settlement;
  settlement.lease = lease;
  settlement.seq = what.seq;
  settlement.ok = what.ok;
  settlement.failed = what.failed;
  settlement.back = what.back;
  settlement.body = what.body;
  settlement.final = what.final;
  settlement.memory = what.memory;
  settlement.begun = what.begun;
  return settlement;
}

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;
inline constexpr std::chrono::hours kLong{1};
inline constexpr std::chrono::hours kOver{-1};  // a session with this life is expired at once

struct JobShape {
  std::vector<int> chunks = {8};
  int retries = 0;
  bool open = false;
  std::chrono::milliseconds retry_wait{0};  // a retry is due at once
  std::int64_t memory = 0;
  std::int64_t memory_max = 0;
  int canary = 0;
};

inline NewJob JobOf(const std::string& key, const JobShape& shape = {}) {
  NewJob job;
  job.project = "p";
  job.key = key;
  job.spec.name = "job";
  job.spec.retries = shape.retries;
  job.spec.retry_wait = shape.retry_wait;
  job.spec.resources.memory_bytes = shape.memory;
  job.spec.memory_max = shape.memory_max;
  job.spec.canary = shape.canary;
  job.spec.document = "{}";
  job.open = shape.open;
  return job;
}

inline NewPart PartOf(std::int32_t number, const std::vector<int>& lengths,
                      const std::string& digest = "digest") {
  NewPart part;
  part.number = number;
  part.digest = digest;
  for (const int length : lengths) part.chunks.push_back({length, "items"});
  return part;
}

inline NewPart RangeOf(std::int32_t number, std::int64_t items) {
  NewPart part;
  part.number = number;
  part.digest = "range";
  part.range_items = items;
  return part;
}

inline RollUpText JoinBodies(const Chunk& chunk, const std::vector<Report>& reports) {
  RollUpText text;
  text.summary = std::to_string(chunk.done.Count());
  for (const Report& report : reports) text.block += report.body + ";";
  return text;
}

// The token of every session that a test does not name another for.
inline constexpr const char* kToken = "token";

// A store, and what it stands on. The store is empty.
class StoreHolder {
 public:
  virtual ~StoreHolder() = default;
  virtual Store& store() = 0;
  virtual AccessStore& access() = 0;
  virtual LedgerStore& ledger() = 0;
  virtual NotifyStore& notify() = 0;
  virtual SettingsStore& settings() = 0;
  virtual PlanStore& plan() = 0;
  virtual StandingStore& standing() = 0;
  // Makes whatever ends by time so much older.
  virtual void Age(Duration time) = 0;
};
using StoreMaker = std::function<std::unique_ptr<StoreHolder>()>;

// Runs on every kind of store. Whatever a test has done, nothing is lost or doubled after it.
class StoreTest : public testing::TestWithParam<StoreMaker> {
 protected:
  StoreTest() : holder_(GetParam()()) {}
  void TearDown() override { EXPECT_EQ(CheckConservation(All()), std::vector<Breach>()); }

  Store& store() { return holder_->store(); }
  AccessStore& access() { return holder_->access(); }
  LedgerStore& ledger() { return holder_->ledger(); }
  NotifyStore& notify() { return holder_->notify(); }
  SettingsStore& settings() { return holder_->settings(); }
  PlanStore& plan() { return holder_->plan(); }
  StandingStore& standing() { return holder_->standing(); }
  void Age(Duration time) { holder_->Age(time); }
  StoreState All() { return Must(store().Dump({}, Bodies::kWith)); }
  JobDump DumpOf(JobId job) { return Must(store().Dump(job, Bodies::kWith)).jobs.at(0); }
  Chunk ChunkOf(JobId job, int chunk = 0) {
    return DumpOf(job).chunks.at(static_cast<std::size_t>(chunk)).chunk;
  }
  JobState StateOf(JobId job) { return Must(store().FindJob(job)).state; }
  Counts CountsOf(JobId job) { return Must(store().CountItems(job)).counts; }
  LeaseId NewLeaseId() { return random_.NewId<LeaseId>(); }

  JobId Draft(const JobShape& shape = {}) {
    const NewJob job = JobOf("key-" + std::to_string(++jobs_made_), shape);
    const JobId id = Must(store().CreateJob(job)).id;
    Must(store().AddPart(id, PartOf(0, shape.chunks)));
    return id;
  }
  JobId Sealed(const JobShape& shape = {}) {
    const JobId id = Draft(shape);
    Must(store().SealJob(id, 1));
    return id;
  }
  SessionId Joined(Duration life = kLong) {
    NewSession session;
    session.id = random_.NewId<SessionId>();
    session.machine = "m" + std::to_string(++machines_made_);
    session.project = "p";
    session.pool = "pool";
    session.life = life;
    session.machine_key = "key";
    session.token = kToken;
    return Must(store().Join(session)).id;
  }

  ExchangeResult Run(std::vector<SyncOrder> syncs) {
    Exchange exchange;
    exchange.syncs = std::move(syncs);
    return Must(store().Run(exchange));
  }
  SyncResult Sync(SyncOrder order) { return Run({std::move(order)}).syncs.at(0); }

  SyncOrder From(SessionId session, std::vector<LeaseId> known = {}) {
    SyncOrder order;
    order.session = session;
    order.token = kToken;
    order.life = kLong;
    order.known = std::move(known);
    return order;
  }
  SyncOrder Asks(SessionId session, JobId job, int items, std::vector<LeaseId> known = {}) {
    SyncOrder order = From(session, std::move(known));
    order.asks.push_back({job, items, NewLeaseId()});
    return order;
  }
  SyncOrder Tells(SessionId session, LeaseId lease, const Settles& what) {
    SyncOrder order = From(session, {lease});
    order.settlements.push_back(Settle(lease, what));
    return order;
  }

  // One more lease for a session that knows all the leases it has.
  Lease Take(SessionId session, JobId job, int items) {
    const SyncResult result = Sync(Asks(session, job, items, LeasesOf(session)));
    if (result.grants.size() != 1) throw std::runtime_error("nothing was granted");
    return result.grants[0].lease;
  }
  // One item is taken by a new machine, and fails there.
  Lease FailOne(JobId job) {
    const Lease lease = Take(Joined(), job, 1);
    Tell(lease, {.failed = lease.mine.Resized(limits::kItemsPerChunk)});
    return lease;
  }
  std::vector<LeaseId> LeasesOf(SessionId session) {
    std::vector<LeaseId> ids;
    for (const JobDump& dump : All().jobs) {
      for (const Lease& lease : dump.leases) {
        if (lease.session == session) ids.push_back(lease.id);
      }
    }
    return ids;
  }
  SyncResult Tell(const Lease& lease, const Settles& what) {
    return Sync(Tells(lease.session, lease.id, what));
  }
  // A machine takes items and is never heard of again.
  Lease Lose(JobId job, int items) {
    const SessionId session = Joined();
    const Lease lease = Take(session, job, items);
    SyncOrder last = From(session, {lease.id});
    last.life = kOver;
    Sync(last);
    EXPECT_EQ(Must(store().Reap(100)).sessions, std::vector<SessionId>{session});
    return lease;
  }
  // All items of a job, by one agent, those of `failing` as failed.
  void RunAll(JobId job, const Bits& failing = Items({})) {
    const SessionId session = Joined();
    while (true) {
      const SyncResult result = Sync(Asks(session, job, 64));
      if (result.grants.empty()) break;
      const Lease& lease = result.grants[0].lease;
      const Bits failed = lease.mine & failing.Resized(lease.mine.length());
      Tell(lease, {.ok = (lease.mine - failed).Resized(limits::kItemsPerChunk),
                   .failed = failed.Resized(limits::kItemsPerChunk)});
    }
  }
  JobState Sweep(JobId job) {
    Swept swept = Must(store().SweepJob(job));
    for (int steps = 0; swept.again && steps < 100; ++steps) swept = Must(store().SweepJob(job));
    return swept.state;
  }

 private:
  std::unique_ptr<StoreHolder> holder_;
  SeededRandom random_{1};
  int jobs_made_ = 0;
  int machines_made_ = 0;
};

}  // namespace tidemill
