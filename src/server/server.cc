// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <utility>

namespace tidemill {

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
    return agent == nullptr || board_.Fits(agent->free);
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

void Server::Join(JoinRequest request, Reply<Session> reply) {
  NewSession session{request.session, std::move(request.machine), std::move(request.pool),
                     request.shape, limits_.session_life};
  OnStore(
      deps_, [session = std::move(session)](Store& store) { return store.Join(session); },
      [reply = std::move(reply)](Result<Session> joined) { reply(std::move(joined)); });
}

void Server::Sync(SyncRequest request, Reply<SyncResult> reply) {
  exchanger_.Sync(std::move(request), std::move(reply));
}

void Server::Wait(SessionId session, Duration at_most, Reply<bool> reply) {
  // Work that was offered after its last sync has passed it by. By time, so that an agent that gets
  // nothing for a reason of its own does not come again and again.
  const Exchanger::Agent* agent = exchanger_.FindAgent(session);
  if (agent != nullptr && offered_ > agent->heard && board_.Fits(agent->free)) {
    reply(true);
    return;
  }
  waiters_.Wait(session, at_most, std::move(reply));
}

void Server::Drain(SessionId session, Reply<void> reply) {
  OnStore(
      deps_, [session](Store& store) { return store.Drain(session); },
      [this, session, reply = std::move(reply)](Result<void> drained) {
        if (drained) waiters_.WakeOne(session);
        reply(std::move(drained));
      });
}

}  // namespace tidemill
