// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/bits.h"
#include "model/data.h"
#include "model/exchange.h"
#include "model/ids.h"
#include "model/lease.h"
#include "model/outcome.h"

namespace tidemill {

// An item as its lease has it.
struct ItemKey {
  LeaseId lease;
  int offset = 0;
  auto operator<=>(const ItemKey&) const = default;
};

// What decides in which containers an item can run.
struct Need {
  JobId job;
  std::int64_t memory_bytes = 0;  // 0: as the job's spec says
  auto operator<=>(const Need&) const = default;
};

// An attempt that is to begin now.
struct Attempt {
  ItemKey key;
  ChunkKey chunk;
  std::int64_t item = 0;  // its number in the job
  std::int32_t round = 0;
  std::int32_t number = 1;        // in its round
  std::int64_t memory_bytes = 0;  // as in Need
  bool alone = false;             // in a loop: with no other beside it
  std::uint64_t data = 0;         // the number of its DataPlace; 0: it has none
  std::string devices = {};       // that it runs on, as its outcome has them
  DataPlace place() const { return {chunk.job, data}; }
};

// The leases of an agent: which of their items wait, which run, and what has not been told yet.
//
//   Add ──▶ waiting ──Pick──▶ running ──Finish──▶ ended ──Unsaid──▶ said ──Heard──▶ (forgotten)
//             ▲ │                │                  ▲
//             │ └──────GiveBack──┼──────────────────┘
//             └─────PutBack──────┘
//
// What ends costs the item an attempt, a step of its memory or nothing, by the cause of it; see
// BudgetOf. What costs nothing goes back to the server, also if it had begun.
//
// A settlement, once made, is said with the same bytes until it is heard; what ends later goes into
// the next one. A value: no clock, no I/O.
class Work {
 public:
  // A lease has fewer settlements in its life.
  static constexpr std::int32_t kSeqs = 1 << 16;
  // Settlements are numbered from `first_seq` on, and begin anew after kSeqs of them. It must be
  // another after each restart of an agent that keeps its session, so that no number is used for
  // other items of a lease than before.
  explicit Work(std::int32_t first_seq) : first_seq_(first_seq) {}

  // False: it is held already.
  bool Add(const Grant& grant);
  // Its items may be picked from now on.
  void MakeReady(LeaseId lease);
  // Those that must run alone come before all others: they need an empty container, which they
  // would not get while others fill it up.
  std::optional<Attempt> Pick(const Need& need);
  // It runs already, begun by an earlier life of the agent. Nothing if it does not wait here.
  std::optional<Attempt> Resume(const ItemKey& key);
  // Whether it runs and its lease is still ours.
  bool Runs(const ItemKey& key) const;
  // What is known here of an item of a job.
  enum class ItemState { kNotHeld, kWaits, kRuns };
  ItemState StateOf(JobId job, std::int64_t item) const;
  // Ends an attempt that runs; of any other, nothing. `final`: it must not be tried again.
  void Finish(const ItemKey& key, Outcome outcome, bool final = false);
  // It did not run after all: waits again. `lost` is what is told of it if it goes back to the
  // server before it has run again; nothing: it had not begun. `alone`: that is how it runs from
  // now on.
  void PutBack(const ItemKey& key, std::optional<Outcome> lost = std::nullopt, bool alone = false);
  // It had not begun, and goes back to the server.
  void Return(const ItemKey& key);
  // All that waits of a job, of those of its leases with one need, or of a lease goes back to the
  // server.
  void GiveBack(JobId job);
  void GiveBack(const Need& need);
  void GiveBack(LeaseId lease);
  // Nothing of it may be said any more.
  void Drop(LeaseId lease);
  void Clear();

  bool Holds(LeaseId lease) const { return held_.contains(lease); }
  std::size_t leases() const { return held_.size(); }
  std::vector<LeaseId> Known() const;
  bool HasUnfinished(JobId job) const;
  // The chunks of all leases that are held.
  std::vector<ChunkKey> Chunks() const;
  // What is to be said now, the oldest first; at most as much as one sync carries.
  const std::deque<Settlement>& Unsaid();
  // The first `count` of them have reached the server.
  void Heard(std::size_t count);
  bool has_news() const { return !unsaid_.empty() || ended_ > 0; }
  // Some lease has nothing left to run: telling so frees it.
  bool has_whole_lease() const { return whole_; }

  struct Load {
    int waiting = 0;  // also those that are not ready
    int ready = 0;    // of these
    int alone = 0;    // of the ready ones, those that must run alone
    int running = 0;
    int unfinished() const { return waiting + running; }
  };
  // Only those with unfinished items are there.
  const std::map<Need, Load>& loads() const { return loads_; }

 private:
  struct Held {
    Grant grant;
    Bits waiting;
    Bits running;
    Bits back;
    Bits alone;  // those that must run alone
    std::vector<Outcome> ended;
    Bits final;  // of those that ended
    // Of those that wait and had begun before, with what would be told of it; few.
    std::map<int, Outcome> lost;
    bool ready = false;
    std::size_t unsaid = 0;  // its settlements in unsaid_
    bool has_news() const { return !ended.empty() || back.Any(); }
    Need need() const { return {grant.lease.chunk.job, grant.lease.memory_bytes}; }
    bool over() const { return waiting.None() && running.None(); }
  };

  void AddLoad(const Held& held, int sign);
  void GiveBack(Held& held);
  // An item that ran runs no more, and does not wait either.
  void TakeOut(Held& held, int offset);
  Settlement Close(Held& held);
  void Forget(std::map<LeaseId, Held>::iterator held);
  // The lease of a key that runs, or null.
  Held* FindRunning(const ItemKey& key);

  const std::int32_t first_seq_;
  std::int32_t settlements_ = 0;
  std::map<LeaseId, Held> held_;
  std::map<Need, std::deque<LeaseId>> order_;  // the oldest first
  std::map<Need, Load> loads_;
  std::deque<Settlement> unsaid_;
  int ended_ = 0;  // leases with news that no settlement has yet
  bool whole_ = false;
};

}  // namespace tidemill
