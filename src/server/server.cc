// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "model/token.h"
#include "server/joining.h"

namespace tidemill {
namespace {

// Of an agent whose last sync went to another server nobody knows here what it has free.
constexpr Resources kAnything{std::numeric_limits<std::int64_t>::max(),
                              std::numeric_limits<std::int64_t>::max()};

}  // namespace

Server::Server(ServerDeps deps, const ServerLimits& limits)
    : deps_(deps),
      limits_(limits),
      waiters_(deps, limits.longest_wait),
      keeper_(deps, limits, board_,
              {.new_work = [this] { OfferWork(); },
               .lost_leases =
                   [this](const std::vector<SessionId>& sessions) {
                     for (const SessionId& session : sessions) waiters_.WakeOne(session);
                   },
               .tick = [this] { exchanger_.ForgetSilentAgents(); },
               .agents_wait = [this] { return !waiters_.empty(); }}),
      exchanger_(deps, limits, board_,
                 {.freed = [this](const std::vector<JobId>&) { keeper_.WorkFreed(); },
                  .unheard = [this] { keeper_.AgentsUnheard(); },
                  .chunk_done =
                      [this](const std::vector<JobId>& jobs) {
                        for (const JobId job : jobs) keeper_.SweepSoon(job);
                      },
                  .troubles =
                      [this](const std::vector<Trouble>& troubles) {
                        for (const Trouble& trouble : troubles) PauseFor(trouble);
                      }}),
      jobs_(deps, [this](JobId job) { keeper_.SweepSoon(job); }) {}

// No more agents than there are items: the others would find nothing and come back.
void Server::OfferWork() {
  offered_ = deps_.loop.Now();
  waiters_.Wake(board_.free_items(), [this](SessionId session) {
    const Exchanger::Agent* agent = exchanger_.FindAgent(session);
    return agent == nullptr || board_.Fits(agent->project, agent->free.value_or(kAnything));
  });
}

// A fleet finds the same trouble at once; one call for each job is enough. If it fails, those that
// get the job's items next find it again.
void Server::PauseFor(const Trouble& trouble) {
  if (!pausing_.insert(trouble.job).second) return;
  jobs_.PauseFor(trouble.job, trouble.reason, [this, trouble](Result<bool> paused) {
    pausing_.erase(trouble.job);
    if (!paused || !*paused) return;
    deps_.log.Warn("job.paused", {{"job", trouble.job.number}, {"reason", trouble.reason}});
  });
}

void Server::Stop(std::function<void()> done) {
  keeper_.Stop();
  exchanger_.Stop(std::move(done));
  waiters_.Stop();
}

void Server::Join(JoinRequest request, Reply<Joined> reply) {
  const JoinTerms terms{.session_life = limits_.session_life,
                        .token_life = limits_.session_token_life,
                        .token = MakeToken(kSessionPrefix, deps_.random)};
  OnStore(
      deps_,
      [&access = deps_.access, request = std::move(request), terms](Store& store) {
        return JoinMachine(store, access, request, terms);
      },
      [this, reply = std::move(reply)](Result<JoinedMachine> joined) {
        if (!joined) return reply(tl::unexpected(joined.error()));
        const Joined& answer = joined->answer;
        exchanger_.Know({answer.session, answer.token}, joined->project);
        reply(answer);
      });
}

void Server::Sync(SyncRequest request, Reply<SyncResult> reply) {
  exchanger_.Sync(std::move(request), std::move(reply));
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
        exchanger_.Know(pass, session->project);
        admitted();
      });
}

void Server::WaitAdmitted(SessionId session, Duration at_most, Reply<bool> reply) {
  // Work that was offered after its last sync has passed it by. By time, so that an agent that gets
  // nothing for a reason of its own does not come again and again.
  const Exchanger::Agent* agent = exchanger_.FindAgent(session);
  if (agent != nullptr && agent->free && offered_ > agent->heard &&
      board_.Fits(agent->project, *agent->free)) {
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

void Server::Drain(SessionId session, const std::string& project, Reply<void> reply) {
  OnStore(
      deps_, [session, project](Store& store) { return store.Drain(session, project); },
      [this, session, reply = std::move(reply)](Result<void> drained) {
        if (drained) waiters_.WakeOne(session);
        reply(std::move(drained));
      });
}

}  // namespace tidemill
