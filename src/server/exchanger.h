// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "lease/board.h"
#include "model/exchange.h"
#include "model/sync.h"
#include "server/deps.h"

namespace tidemill {

// Gathers the syncs that arrive within a few milliseconds and carries them out as one transaction,
// so that the database does work for each batch and lease, not for each agent. Loop thread only.
//
// A sync is answered when its transaction has committed. If a batch fails for a reason of its
// content, its syncs are run one by one, and the one that fails alone is an alarm.
class Exchanger {
 public:
  // What others do with what a batch has brought about.
  struct Events {
    std::function<void(const std::vector<JobId>&)> freed;  // items can be granted soon
    // A batch was not carried out, and not by its own fault: its agents were not heard.
    std::function<void()> unheard;
    std::function<void(const std::vector<JobId>&)> chunk_done;  // the job may be finished
    // An agent says that it cannot run these jobs, and an agent that holds a lease of each said so.
    std::function<void(SessionId, const std::vector<Trouble>&)> troubles;
    std::function<void(const SyncRequest&, const SyncResult&)> synced;
    std::function<void(SessionId)> forgotten;
    // What was booked for some agents was not granted to them: others may have it.
    std::function<void()> unbooked;
  };

  Exchanger(ServerDeps deps, const ServerLimits& limits, JobBoard& board, Events events);
  ~Exchanger();

  void Sync(SyncRequest request, Reply<SyncResult> reply);
  // Calls once nothing is pending or in flight; new syncs are refused from now on.
  void Stop(std::function<void()> done);

  // Agents heard of within a session's life, and what they had free.
  std::int64_t agents() const { return static_cast<std::int64_t>(agents_.size()); }
  struct Agent {
    std::optional<AgentRoom> room;  // nothing: it syncs with another server
    TimePoint heard;                // when its last sync came
    AgentPlace place = {};          // its project is empty: nobody has told us yet
    bool unasked = false;           // nothing was asked for with its last sync, for that reason
    std::string token;              // the last one that was good,
    TimePoint good_at = {};         // and when that was known
    TimePoint offered = {};         // when a spare token was last sent along; zero: never
  };
  // The pass is good, says the store.
  void Know(const SessionPass& pass, AgentPlace place);
  // Was it good less than a session's life ago?
  bool Knows(const SessionPass& pass) const;
  const Agent* FindAgent(SessionId session) const;
  void ForgetSilentAgents();

  struct Totals {
    std::int64_t syncs = 0;
    std::int64_t batches = 0;
    std::int64_t leases = 0;
    std::int64_t outcomes = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  struct Pending {
    SyncRequest request;
    Reply<SyncResult> reply;
  };
  using Batch = std::vector<Pending>;

  bool IsUrgent(const SyncRequest& request) const;
  AgentPlace PlaceOf(SessionId session) const;
  void ScheduleFlush(Duration delay);
  void Flush();
  Batch TakeBatch();
  Exchange ExchangeOf(const Batch& batch);
  // An exchange is over: what was asked for is granted by now, or not.
  void LearnTroubles(const Batch& batch, const ExchangeResult& result);
  void Run(Batch batch);
  void RunOneByOne(Batch batch);
  void Finish(Batch batch, Result<ExchangeResult> result);
  void Learn(const Batch& batch, const ExchangeResult& result);
  void LearnPass(const SyncRequest& request, const SyncResult& result);
  // A token for the store to give, if the agent's own has grown old; not with every sync, because
  // random numbers cost something.
  std::string SpareFor(SessionId session);
  // Of a sync whose pass is good.
  void Hear(const SyncRequest& request);
  void Forget(const SyncRequest& request);
  void BatchDone();

  const ServerDeps deps_;
  const ServerLimits limits_;
  JobBoard& board_;
  const Events events_;
  std::deque<Pending> pending_;
  std::size_t pending_bytes_ = 0;
  std::map<SessionId, Agent> agents_;
  int in_flight_ = 0;
  TimerId timer_ = TimerId::kNone;
  TimePoint flush_at_;
  std::function<void()> stopped_;
  Totals totals_;
};

}  // namespace tidemill
