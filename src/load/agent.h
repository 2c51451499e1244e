// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/link.h"
#include "base/loop.h"
#include "base/random.h"
#include "load/script.h"

namespace tidemill {

// What played agents have done, all together.
struct LoadTotals {
  std::int64_t syncs = 0;
  std::int64_t leases = 0;
  std::int64_t items_run = 0;  // attempts; more than outcomes where work was lost or repeated
  std::int64_t waits = 0;
  std::int64_t fetches = 0;
  std::int64_t errors = 0;  // answers that did not come, or asked to try again
  std::int64_t sessions_lost = 0;
  std::int64_t refused = 0;
  std::int64_t lies = 0;
  std::int64_t repeats = 0;
  std::int64_t vanished = 0;
  std::int64_t late = 0;
  TimePoint first_lease{};   // when the first lease came
  TimePoint last_settled{};  // when a settlement was last answered
};

// The newest leases that any agent has seen: what a liar claims of others.
struct Gossip {
  std::vector<LeaseId> leases;
  void Hear(LeaseId lease, Random& random);
};

// Plays an agent: speaks the calls of a real one, and pretends to run the items. Its misdeeds are
// those that a server must stand: it may repeat itself, lie, come late or vanish. What it says of
// items that it does hold is always true. Loop thread only.
class PlayedAgent {
 public:
  struct Deps {
    Loop& loop;
    ServerLink& link;
    Random& random;
    LoadTotals& totals;
    Gossip& gossip;
  };

  PlayedAgent(Deps deps, const Script& script, std::string machine);

  void Start();
  // Returns what it holds and leaves for good.
  void Leave();
  bool gone() const { return gone_; }

 private:
  struct Held {
    Grant grant;
    Bits left;  // not settled yet
    std::int32_t next_seq = 0;
    bool finished() const { return left.None(); }  // all has been said, perhaps not heard
  };

  void BeginLife(Duration delay);
  void Join();
  void Beat();

  void SyncNow();
  SyncRequest MakeSync();
  void Answered(Result<SyncResult> result);
  void Misbehave(SyncRequest& request);
  Settlement Lie();
  void TryAgainLater(std::function<void()> call);

  void Take(const Grant& grant);
  void RunLease(LeaseId lease);
  void FinishLease(LeaseId lease);
  Settlement Settle(Held& held, Bits items);
  void Wait();
  bool Busy() const;

  // What is begun in one life is void in the next, and when the agent is destroyed.
  template <typename Call>
  auto InThisLife(Call call);
  void After(Duration delay, std::function<void()> call);

  const Deps deps_;
  const Script script_;
  const std::string machine_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::uint64_t life_ = 0;

  // Of this life.
  SessionPass pass_;
  std::map<LeaseId, Held> held_;
  std::vector<Settlement> outbox_;  // said until an answer comes
  std::size_t sent_ = 0;            // of the outbox, with the sync under way
  std::vector<Settlement> said_;    // the last few that were answered: may be repeated
  std::vector<Measured> measured_;
  std::set<ChunkKey> fetched_;
  TimePoint silent_until_;
  int failures_ = 0;  // calls in a row that were not answered
  bool syncing_ = false;
  bool sync_again_ = false;
  bool waiting_ = false;

  bool leaves_ = false;         // with the next sync
  bool leave_is_sent_ = false;  // with the one under way

  bool leaving_ = false;  // for good
  bool gone_ = false;
};

}  // namespace tidemill
