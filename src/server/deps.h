// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/random.h"
#include "base/result.h"
#include "provider/proof.h"
#include "provider/provider.h"
#include "provider/roles.h"
#include "store/access_store.h"
#include "store/plan_store.h"
#include "store/standing_store.h"
#include "store/store.h"

namespace tidemill {

// The world as a server sees it; all of it outlives the server.
struct ServerDeps {
  Loop& loop;
  Worker& worker;
  // For the exchange alone, so that no listing of a large job can keep agents from being heard.
  Worker& exchange_worker;
  Store& store;         // called on the workers only,
  AccessStore& access;  // and so is this
  Random& random;
  Log& log;
  // On the workers only, too. Null: nobody plans, and jobs take turns.
  PlanStore* plans = nullptr;
  // By the names that pools have for them. A pool with another provider gets no machines.
  std::map<std::string, Provider*> providers = {};
  // Null: nobody joins but with a token.
  ProofChecker* proofs = nullptr;
  // Null: no job has a role.
  RoleKeeper* roles = nullptr;
  // On the workers only. Null: items do not arrive, and nothing is packed away.
  StandingStore* standing = nullptr;
};

// An answer that comes later, on the loop thread, once.
template <typename T>
using Reply = std::function<void(Result<T>)>;

// Carries `call(store)` out on a worker and hands its result to `done` on the loop thread.
template <typename Call, typename Done>
void OnStore(const ServerDeps& deps, Worker& worker, Call call, Done done) {
  using Answer = decltype(call(deps.store));
  // Shared by the two halves, which run one after the other.
  auto answer = std::make_shared<std::optional<Answer>>();
  worker.Run([&store = deps.store, call = std::move(call), answer] { *answer = call(store); },
             [done = std::move(done), answer]() mutable { done(*std::move(*answer)); });
}

template <typename Call, typename Done>
void OnStore(const ServerDeps& deps, Call call, Done done) {
  OnStore(deps, deps.worker, std::move(call), std::move(done));
}

// The same with the other half of the store.
template <typename Call, typename Done>
void OnAccess(const ServerDeps& deps, Call call, Done done) {
  OnStore(
      deps, [&access = deps.access, call = std::move(call)](Store&) { return call(access); },
      std::move(done));
}

// The same with what the leader reads and writes; there must be one.
template <typename Call, typename Done>
void OnPlans(const ServerDeps& deps, Call call, Done done) {
  OnStore(
      deps, [plans = deps.plans, call = std::move(call)](Store&) { return call(*plans); },
      std::move(done));
}

struct ServerLimits {
  // Without a sync for this long an agent is given up.
  Duration session_life = std::chrono::seconds(60);
  Duration session_token_life = limits::kSessionTokenLife;
  // Agents sync at least this often, and six times in a session's life.
  Duration heartbeat = std::chrono::seconds(10);
  // Syncs that settle something, or may get something, wait this long for others to share their
  // transaction; those that only show that the agent lives can wait longer.
  Duration gather = std::chrono::milliseconds(3);
  Duration idle_gather = std::chrono::milliseconds(200);
  // One is being committed while the next one is being gathered and sent.
  int batches_in_flight = 2;
  // Syncs that wait for a batch; more are told to come back.
  std::size_t pending_syncs = 20'000;
  // The same in memory, for all together; and what one transaction carries at most.
  std::size_t pending_bytes = 64 << 20;
  std::size_t batch_bytes = 8 << 20;
  Duration longest_wait = std::chrono::seconds(25);
  Duration poll_every = std::chrono::milliseconds(200);
  // With agents or work waiting, the board is made anew this often even if nobody said anything:
  // other servers grant too.
  Duration refresh_every = std::chrono::seconds(2);
  Duration reap_every = std::chrono::seconds(5);
  // A machine that fails items is found while it has not failed many.
  Duration blame_every = std::chrono::seconds(3);
  Duration sweep_every = std::chrono::seconds(1);
  Duration roll_up_every = std::chrono::milliseconds(500);
  Duration tidy_every = std::chrono::minutes(10);
  // An open job's chunks are packed away so long after they ended: an hour in which people look at
  // what they have just sent; what failed is kept for them to send again.
  Duration pack_every = std::chrono::seconds(5);
  Duration pack_age = std::chrono::hours(1);
  Duration pack_failed_age = std::chrono::hours(24 * 30);
  // Rounds of the leader, if nothing changes in between.
  Duration plan_every = std::chrono::seconds(1);
  // A leader that has not renewed its row for this long is replaced.
  Duration leader_silence = std::chrono::seconds(6);
  // A provider that takes longer to list its machines counts with the next round.
  Duration list_limit = std::chrono::seconds(5);
  // A single machine that still reports a job as unrunnable after this time is believed: the
  // machines that could run the job may be fewer than those there are.
  Duration insist_after = std::chrono::seconds(30);
  // For as long as a person may want to know who did what.
  Duration audit_age = std::chrono::hours(24 * 400);
  bool operator==(const ServerLimits&) const = default;
};

}  // namespace tidemill
