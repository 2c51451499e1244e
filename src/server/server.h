// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lease/board.h"
#include "model/sync.h"
#include "server/deps.h"
#include "server/exchanger.h"
#include "server/heard_times.h"
#include "server/jobs.h"
#include "server/joining.h"
#include "server/keeper.h"
#include "server/leader.h"
#include "server/lease_watch.h"
#include "server/streams.h"
#include "server/troubles.h"
#include "server/waiters.h"

namespace tidemill {

// The control plane as a reactor: it runs unchanged in a process and in the simulator. It keeps no
// state that matters: dropped at any moment and made anew, it goes on from the store. Loop thread
// only.
class Server {
 public:
  Server(ServerDeps deps, const ServerLimits& limits);

  void Start();
  // Refuses new work, answers everything that is under way, then calls `done`. No sync is lost: one
  // that was not answered was not taken.
  void Stop(std::function<void()> done);

  // --- agents ---
  void Join(JoinRequest request, Reply<Joined> reply);
  // kNobody: it proves nothing, or nobody here can tell.
  void Prove(MachineProof proof, Reply<ProvenMachine> reply);
  // The machine has proven what it is, and shows no token.
  void JoinProven(JoinRequest request, const ProvenMachine& proven, Reply<Joined> reply);
  void Sync(SyncRequest request, Reply<SyncResult> reply);
  // `begin` is asked once the pass is known to be good, and says whether anybody is still there: a
  // stranger that hangs up must not end the wait of the session that it named.
  void Wait(const SessionPass& pass, Duration at_most, Reply<bool> reply,
            std::function<bool()> begin = {});
  // Whoever waited for this session is gone.
  void ForgetWait(SessionId session) { waiters_.Forget(session); }
  // Of jobs that the session holds a lease of; kForbidden for all others, be they there or not.
  void FetchItems(const SessionPass& pass, ChunkKey key, Reply<ChunkItems> reply);
  void FetchJob(const SessionPass& pass, JobId job, Reply<Job> reply);
  // It has pulled the job's image, which was this. Answers with the digest that counts.
  void PinImage(const SessionPass& pass, JobId job, const std::string& digest,
                Reply<std::string> reply);

  // --- people ---
  // Of a machine of the project.
  void Drain(SessionId session, const std::string& project, Reply<void> reply);
  // Somebody reads the job's logs as they come: agents store them soon. Said again while it lasts.
  static constexpr Duration kFollowTime = std::chrono::seconds(10);
  void Follow(JobId job, Reply<void> reply);
  // Somebody wants into the container of an item that runs: its agent is told so, for a while. Who
  // asked waits no longer than that. Fails as Store::AskStream does.
  static constexpr Duration kStreamTime = std::chrono::seconds(30);
  void AskStream(JobId job, std::int64_t item, const std::string& ask, Reply<AskedStream> reply);
  // The agent has come for it, or nobody waits any more: it makes room for others.
  void EndStream(StreamId stream);
  Jobs& jobs() { return jobs_; }
  const ServerDeps& deps() const { return deps_; }
  const ServerLimits& limits() const { return limits_; }

  const Exchanger::Totals& totals() const { return exchanger_.totals(); }
  std::int64_t agents() const { return exchanger_.agents(); }
  std::size_t waiting() const { return waiters_.size(); }

 private:
  JoinTerms TermsOf() const;
  void JoinOn(JoinRequest request, JoinTerms terms, Reply<Joined> reply);
  void OfferWork();
  // What an agent is told with its sync beyond what the store said.
  void Tell(SessionId session, SyncResult& result);
  void UseFollowed(const std::vector<JobId>& jobs);
  void UseStreams(const std::vector<AskedStream>& streams);
  void WakeForStreams();
  void ForgetOld();
  void EndTrial(JobId job);
  void PauseTrial(JobId job, const std::string& reason);
  void RaiseMemory(JobId job, std::int64_t bytes);
  void WaitAdmitted(SessionId session, Duration at_most, Reply<bool> reply);

  const ServerDeps deps_;
  const ServerLimits limits_;
  JobBoard board_;
  Waiters waiters_;
  HeardTimesBook times_;
  Keeper keeper_;
  Exchanger exchanger_;
  Jobs jobs_;
  Troubles troubles_;
  LeaseWatch watch_;
  std::optional<Leader> leader_;  // nothing if nobody plans
  std::vector<JobId> followed_;
  AskedStreams streams_;
  TimePoint offered_{};  // when work was last offered to those who wait
};

}  // namespace tidemill
