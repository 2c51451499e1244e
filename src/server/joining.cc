// SPDX-License-Identifier: Apache-2.0
#include "server/joining.h"

#include <algorithm>

#include "model/token.h"

namespace tidemill {
namespace {

// A session survives a few lost heartbeats.
constexpr int kHeartbeatsPerSession = 6;

Result<Pool> PoolOf(const JoinStores& stores, const JoinRequest& request, const JoinTerms& terms) {
  if (terms.proven) return stores.access.FindPool(request.project, request.pool);
  if (IsToken(kSessionPrefix, request.join_token)) {
    TIDEMILL_TRY(const Session session,
                 stores.store.CheckPass({request.session, request.join_token}, terms.token_life,
                                        std::nullopt));
    return stores.access.FindPool(session.project, session.pool);
  }
  TIDEMILL_TRY(const JoinPlace place,
               stores.access.UseJoinToken(request.join_token, request.session));
  return place.pool;
}

// Whose machine it is, its provider says, and nobody else: what it calls itself does not count.
Result<std::string> NameOf(const JoinStores& stores, const Pool& pool, const std::string& id) {
  if (stores.plans == nullptr) return Fail(Code::kNobody, "this server orders no machines");
  TIDEMILL_TRY(const std::optional<std::string> name,
               stores.plans->FindMachineById(pool.project, pool.name, id));
  if (!name) {
    return Fail(Code::kUnavailable,
                "pool " + pool.name + " has no machine " + id + ", as far as is known yet");
  }
  return *name;
}

}  // namespace

Result<JoinedMachine> JoinMachine(const JoinStores& stores, JoinRequest request,
                                  const JoinTerms& terms) {
  TIDEMILL_TRY(const Pool pool, PoolOf(stores, request, terms));
  if (terms.proven) {
    TIDEMILL_TRY(request.machine, NameOf(stores, pool, *terms.proven));
  }
  TIDEMILL_TRY(const Project project, stores.access.FindProject(pool.project));
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
  const Result<Session> joined = stores.store.Join(session);
  TIDEMILL_TRY_VOID(stores.access.Record({.project = pool.project,
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
  machine.answer.heartbeat = std::min(terms.heartbeat, terms.session_life / kHeartbeatsPerSession);
  machine.answer.life = terms.session_life;
  machine.answer.token = terms.token;
  machine.answer.policy = pool.policy;
  machine.answer.log_bytes = project.limits.log_bytes;
  if (terms.proven) machine.answer.machine = request.machine;
  return machine;
}

}  // namespace tidemill
