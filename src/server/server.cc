// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "model/token.h"
#include "server/joining.h"

namespace tidemill {
namespace {

AgentPlace PlaceOf(const Session& session) {
  return {session.id, session.project, session.pool, session.machine, session.shape};
}

}  // namespace

Server::Server(ServerDeps deps, const ServerLimits& limits)
    : deps_(deps),
      limits_(limits),
      waiters_(deps, limits.longest_wait),
      times_(deps),
      keeper_(deps, limits, board_,
              {.new_work = [this] { OfferWork(); },
               .lost_leases =
                   [this](const std::vector<SessionId>& sessions) {
                     for (const SessionId& session : sessions) waiters_.WakeOne(session);
                   },
               .tick = [this] { ForgetOld(); },
               .agents_wait = [this] { return !waiters_.empty(); },
               .put_aside = [this](SessionId session) { waiters_.WakeOne(session); },
               .followed = [this](const std::vector<JobId>& jobs) { UseFollowed(jobs); },
               .streams = [this](const std::vector<AskedStream>& all) { UseStreams(all); },
               .changed =
                   [this] {
                     if (leader_) leader_->Soon();
                   },
               .asked_back =
                   [this](const std::vector<SessionId>& sessions) {
                     for (const SessionId& session : sessions) waiters_.WakeOne(session);
                   }}),
      exchanger_(deps, limits, board_,
                 {.freed = [this](const std::vector<JobId>&) { keeper_.WorkFreed(); },
                  .unheard = [this] { keeper_.AgentsUnheard(); },
                  .chunk_done =
                      [this](const std::vector<JobId>& jobs) {
                        for (const JobId job : jobs) keeper_.SweepSoon(job);
                      },
                  .troubles =
                      [this](SessionId session, const std::vector<Trouble>& troubles) {
                        for (const Trouble& trouble : troubles) troubles_.Hear(session, trouble);
                      },
                  .synced =
                      [this](const SyncRequest& request, const SyncResult& result) {
                        watch_.Learn(request, result, deps_.loop.Now());
                        for (const Measured& measured : request.measured) {
                          const BoardJob* job = board_.FindJob(measured.job);
                          if (job != nullptr && job->project == result.project) {
                            times_.Add(measured);
                          }
                        }
                      },
                  .forgotten = [this](SessionId session) { watch_.Forget(session); },
                  .unbooked = [this] { OfferWork(); }}),
      jobs_(deps, [this](JobId job) { keeper_.SweepSoon(job); }),
      troubles_(deps, jobs_, limits.insist_after),
      watch_(board_,
             {.end_trial = [this](JobId job) { EndTrial(job); },
              .pause_trial = [this](JobId job, const std::string& why) { PauseTrial(job, why); },
              .raise_memory = [this](JobId job, std::int64_t to) { RaiseMemory(job, to); }}) {
  if (deps_.plans != nullptr) {
    leader_.emplace(deps_, LeaderOptions{.name = times_.server(),
                                         .every = limits.plan_every,
                                         .life = limits.leader_silence,
                                         .list_limit = limits.list_limit});
  }
}

void Server::Start() {
  keeper_.Start();
  if (!leader_) return;
  times_.Start();
  leader_->Start();
}

void Server::ForgetOld() {
  exchanger_.ForgetSilentAgents();
  troubles_.ForgetOld();
  watch_.ForgetOld(deps_.loop.Now(),
                   [this](SessionId session) { return exchanger_.FindAgent(session) != nullptr; });
}

// No more agents than there are items: the others would find nothing and come back.
void Server::OfferWork() {
  offered_ = deps_.loop.Now();
  waiters_.Wake(board_.free_items(), [this](SessionId session) {
    const Exchanger::Agent* agent = exchanger_.FindAgent(session);
    if (agent == nullptr) return true;
    // What an agent has free whose last sync went to another server nobody knows here.
    return agent->room ? board_.Fits(agent->place, *agent->room)
                       : board_.HasWork(agent->place.project);
  });
}

// All may go out at once, also before the store has heard of it. If it does not, the next success
// says it again.
void Server::EndTrial(JobId job) {
  board_.SetPassed(job, true);
  OfferWork();
  jobs_.EndTrial(job, [this, job](Result<void> ended) {
    if (!ended) board_.SetPassed(job, false);
  });
}

void Server::PauseTrial(JobId job, const std::string& reason) {
  board_.MarkDry(job);
  jobs_.PauseTrial(job, reason, [this, job, reason](Result<void> paused) {
    if (paused) deps_.log.Warn("job.paused", {{"job", job.number}, {"reason", reason}});
  });
}

void Server::RaiseMemory(JobId job, std::int64_t bytes) {
  jobs_.RaiseMemory(job, bytes, [this, job, bytes](Result<void> raised) {
    if (raised) deps_.log.Info("job.memory_raised", {{"job", job.number}, {"bytes", bytes}});
  });
}

void Server::Stop(std::function<void()> done) {
  keeper_.Stop();
  times_.Stop();
  if (leader_) leader_->Stop();
  exchanger_.Stop(std::move(done));
  waiters_.Stop();
}

JoinTerms Server::TermsOf() const {
  return {.session_life = limits_.session_life,
          .heartbeat = limits_.heartbeat,
          .token_life = limits_.session_token_life,
          .token = MakeToken(kSessionPrefix, deps_.random)};
}

void Server::Join(JoinRequest request, Reply<Joined> reply) {
  JoinOn(std::move(request), TermsOf(), std::move(reply));
}

void Server::Prove(MachineProof proof, Reply<ProvenMachine> reply) {
  if (deps_.proofs == nullptr) {
    return reply(Fail(Code::kNobody, "this server believes no proofs; join with a token"));
  }
  deps_.proofs->Check(std::move(proof), std::move(reply));
}

void Server::JoinProven(JoinRequest request, const ProvenMachine& proven, Reply<Joined> reply) {
  JoinTerms terms = TermsOf();
  terms.proven = proven.id;
  JoinOn(std::move(request), std::move(terms), std::move(reply));
}

void Server::JoinOn(JoinRequest request, JoinTerms terms, Reply<Joined> reply) {
  OnStore(
      deps_,
      [&access = deps_.access, plans = deps_.plans, request = std::move(request),
       terms = std::move(terms)](Store& store) {
        return JoinMachine({store, access, plans}, request, terms);
      },
      [this, reply = std::move(reply)](Result<JoinedMachine> joined) {
        if (!joined) return reply(tl::unexpected(joined.error()));
        const Joined& answer = joined->answer;
        exchanger_.Know({answer.session, answer.token}, PlaceOf(joined->session));
        reply(answer);
      });
}

void Server::Sync(SyncRequest request, Reply<SyncResult> reply) {
  const SessionId session = request.session;
  exchanger_.Sync(std::move(request),
                  [this, session, reply = std::move(reply)](Result<SyncResult> result) {
                    if (result) Tell(session, *result);
                    reply(std::move(result));
                  });
}

void Server::Tell(SessionId session, SyncResult& result) {
  result.followed = followed_;
  result.streams = streams_.Tell(session);
  if (result.owed.empty()) return;
  result.back = board_.book().TakeBack(session);
  result.limits = board_.book().LimitsOf(session);
}

void Server::Follow(JobId job, Reply<void> reply) {
  OnStore(
      deps_, [job](Store& store) { return store.Follow(job, kFollowTime); },
      [this, job, reply = std::move(reply)](Result<std::vector<SessionId>> sessions) {
        if (!sessions) return reply(tl::unexpected(sessions.error()));
        const bool known = std::find(followed_.begin(), followed_.end(), job) != followed_.end();
        if (!known) {
          followed_.push_back(job);
          for (const SessionId& session : *sessions) waiters_.WakeOne(session);
        }
        reply({});
      });
}

// Whoever has leases of a job that was not followed before may wait here, though the one who reads
// asked another server.
void Server::UseFollowed(const std::vector<JobId>& jobs) {
  const std::vector<JobId> before = std::exchange(followed_, jobs);
  for (const JobId job : jobs) {
    if (std::find(before.begin(), before.end(), job) != before.end()) continue;
    OnStore(
        deps_, [job](Store& store) { return store.Follow(job, Duration{}); },
        [this](Result<std::vector<SessionId>> sessions) {
          if (!sessions) return;  // they hear it with their next sync
          for (const SessionId& session : *sessions) waiters_.WakeOne(session);
        });
  }
}

void Server::AskStream(JobId job, std::int64_t item, const std::string& ask,
                       Reply<AskedStream> reply) {
  const NewStream stream{deps_.random.NewId<StreamId>(), job, item, ask, kStreamTime};
  OnStore(
      deps_, [stream](Store& store) { return store.AskStream(stream); },
      [this, stream, reply = std::move(reply)](Result<SessionId> session) {
        if (!session) return reply(tl::unexpected(session.error()));
        const AskedStream asked{stream.id, *session, stream.job, stream.item, stream.ask};
        streams_.Add(asked);
        // Who asked is there before the agent can come.
        reply(asked);
        WakeForStreams();
      });
}

// If the store does not hear of it, its time is over soon.
void Server::EndStream(StreamId stream) {
  streams_.End(stream);
  OnStore(deps_, [stream](Store& store) { return store.EndStream(stream); }, [](Result<void>) {});
}

// The agents may wait here, though the one who wants in asked another server.
void Server::UseStreams(const std::vector<AskedStream>& streams) {
  streams_.Use(streams);
  WakeForStreams();
}

void Server::WakeForStreams() {
  for (const SessionId& session : streams_.ToWake()) {
    if (waiters_.WakeOne(session)) streams_.Woken(session);
  }
}

// A pass that a sync has shown lately was good then. Otherwise the store is asked: this server may
// never have heard of the session.
void Server::Wait(const SessionPass& pass, Duration at_most, Reply<bool> reply,
                  std::function<bool()> begin) {
  const auto admitted = [this, pass, at_most, reply, begin = std::move(begin)] {
    if (begin && !begin()) return reply(false);
    WaitAdmitted(pass.session, at_most, reply);
  };
  if (exchanger_.Knows(pass)) return admitted();
  OnStore(
      deps_,
      [pass, life = limits_.session_token_life](Store& store) {
        return store.CheckPass(pass, life, std::nullopt);
      },
      [this, pass, reply, admitted](Result<Session> session) {
        if (!session) return reply(tl::unexpected(session.error()));
        exchanger_.Know(pass, PlaceOf(*session));
        admitted();
      });
}

void Server::WaitAdmitted(SessionId session, Duration at_most, Reply<bool> reply) {
  // Work that was offered after its last sync has passed it by. By time, so that an agent that gets
  // nothing for a reason of its own does not come again and again.
  const Exchanger::Agent* agent = exchanger_.FindAgent(session);
  if (agent != nullptr && agent->room && (offered_ > agent->heard || agent->unasked) &&
      board_.Fits(agent->place, *agent->room)) {
    reply(true);
    return;
  }
  waiters_.Wait(session, at_most, std::move(reply));
}

void Server::FetchItems(const SessionPass& pass, ChunkKey key, Reply<ChunkItems> reply) {
  OnStore(
      deps_,
      [pass, key, life = limits_.session_token_life](Store& store) -> Result<ChunkItems> {
        TIDEMILL_TRY_VOID(store.CheckPass(pass, life, key.job));
        return store.FindItems(key);
      },
      [reply = std::move(reply)](Result<ChunkItems> items) { reply(std::move(items)); });
}

void Server::FetchJob(const SessionPass& pass, JobId job, Reply<Job> reply) {
  OnStore(
      deps_,
      [pass, job, life = limits_.session_token_life](Store& store) -> Result<Job> {
        TIDEMILL_TRY_VOID(store.CheckPass(pass, life, job));
        return store.FindJob(job);
      },
      [reply = std::move(reply)](Result<Job> found) { reply(std::move(found)); });
}

void Server::PinImage(const SessionPass& pass, JobId job, const std::string& digest,
                      Reply<std::string> reply) {
  jobs_.PinImage({pass, job, digest, limits_.session_token_life},
                 [this, pass, job, digest, reply = std::move(reply)](Result<std::string> pinned) {
                   if (pinned && *pinned == digest) {
                     deps_.log.Info("job.image_pinned", {{"job", job.number},
                                                         {"digest", digest},
                                                         {"session", ToString(pass.session)}});
                   }
                   reply(std::move(pinned));
                 });
}

void Server::Drain(SessionId session, const std::string& project, Reply<void> reply) {
  OnStore(
      deps_, [session, project](Store& store) { return store.Drain(session, project); },
      [this, session, reply = std::move(reply)](Result<void> drained) {
        if (drained) waiters_.WakeOne(session);
        reply(std::move(drained));
      });
}

}  // namespace tidemill
