// SPDX-License-Identifier: Apache-2.0
#include "server/joining.h"

#include <algorithm>
#include <chrono>

#include "model/token.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

// A session survives a few lost heartbeats.
constexpr milliseconds kHeartbeat{10'000};
constexpr int kHeartbeatsPerSession = 6;

Result<Pool> PoolOf(Store& store, AccessStore& access, const JoinRequest& request,
                    const JoinTerms& terms) {
  if (IsToken(kSessionPrefix, request.join_token)) {
    TIDEMILL_TRY(const Session session, store.CheckPass({request.session, request.join_token},
                                                        terms.token_life, std::nullopt));
    return access.FindPool(session.project, session.pool);
  }
  TIDEMILL_TRY(const JoinPlace place, access.UseJoinToken(request.join_token, request.session));
  return place.pool;
}

}  // namespace

Result<JoinedMachine> JoinMachine(Store& store, AccessStore& access, const JoinRequest& request,
                                  const JoinTerms& terms) {
  TIDEMILL_TRY(const Pool pool, PoolOf(store, access, request, terms));
  TIDEMILL_TRY(const Project project, access.FindProject(pool.project));
  NewSession session;
  session.id = request.session;
  session.machine = request.machine;
  session.project = pool.project;
  session.pool = pool.name;
  session.shape = request.shape;
  session.life = terms.session_life;
  session.machine_key = request.machine_key;
  session.token = terms.token;
  session.address = request.address;
  const Result<Session> joined = store.Join(session);
  TIDEMILL_TRY_VOID(access.Record({.project = pool.project,
                                   .who = request.machine,
                                   .token = ToString(request.session),
                                   .address = request.address,
                                   .action = "POST /v1/agents/join",
                                   .target = pool.name,
                                   .allowed = joined.has_value()}));
  if (!joined) return tl::unexpected(joined.error());
  if (joined->state == SessionState::kDead) {
    return Fail(Code::kLost, "this session has ended; join with a new one");
  }
  JoinedMachine machine;
  machine.session = *joined;
  machine.answer.session = joined->id;
  machine.answer.state = joined->state;
  machine.answer.heartbeat =
      std::min<Duration>(kHeartbeat, terms.session_life / kHeartbeatsPerSession);
  machine.answer.life = terms.session_life;
  machine.answer.token = terms.token;
  machine.answer.policy = pool.policy;
  machine.answer.log_bytes = project.limits.log_bytes;
  return machine;
}

}  // namespace tidemill
