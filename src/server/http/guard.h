// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "model/access.h"
#include "net/http_server.h"
#include "server/http/gate.h"
#include "server/http/known_tokens.h"
#include "server/http/router.h"
#include "server/rates.h"
#include "server/server.h"

namespace tidemill {

// Stands between the router and the routes. A person's call comes through if its token or cookie is
// good, its role is enough, its project exists and its rate is kept; if it could change something,
// the audit has it before it begins. An agent's call comes through if it shows a token of the right
// kind: the store decides what it is worth. Loop thread only; outlives its calls.
class Guard {
 public:
  Guard(Server& server, Gate& gate, Log& log) : server_(server), gate_(gate), log_(log) {}

  // What a request costs whose body has not come yet: who shows no token that could be one for this
  // call is refused without it, and who is not known yet can keep nobody out.
  HttpAdmission Foresee(Needs needs, const HttpRequest& head) const;

  // Goes on with `route`, or answers: 401, 403, 404, 429, 503.
  void Admit(Needs needs, std::string action, Call call, Router::Route route);

  // For a token that came in another way. kNobody, kExhausted: too many wrong ones from there.
  void Identify(const std::string& secret, const std::string& address,
                const std::shared_ptr<HttpPeer>& peer, Reply<Caller> reply);

  // For a proof that came in a token's place; as Identify. Holds no turn meanwhile: whom it is
  // compared with may be slow.
  void Prove(MachineProof proof, const std::string& address, Reply<ProvenMachine> reply);

  // Whether a join token may be looked up. kNobody: it was wrong a moment ago. kExhausted: too many
  // wrong ones came from there.
  Result<void> MayJoin(const std::string& secret, const std::string& address) const;
  // What the store has said of it.
  void NoteWrongJoin(const std::string& secret, const std::string& address);
  // The store has said so of any token.
  void NoteGood(const std::string& secret) { known_.NoteGood(secret); }

 private:
  void AdmitAgent(Needs needs, Call call, const Router::Route& route);
  // The caller is known.
  void Enter(Needs needs, std::string action, std::shared_ptr<Call> call, Router::Route route);
  // So is the project.
  void EnterProject(Needs needs, std::string action, std::shared_ptr<Call> call,
                    Router::Route route, const ProjectLimits& limits);
  bool KeepsRate(const Call& call, const ProjectLimits& limits);
  void Record(const Call& call, const std::string& action, bool allowed, Reply<void> reply);

  Server& server_;
  Gate& gate_;
  Log& log_;
  Rates rates_;  // of tokens and projects
  // Of addresses that wrong tokens or proofs came from, of each kind for itself. One that comes
  // again and again is not looked up each time, and counts once.
  Rates wrong_;
  KnownTokens known_;
};

// The token of a request: of its Authorization field, or else of its cookie.
struct ShownToken {
  std::string secret;
  bool by_cookie = false;
};
std::optional<ShownToken> TokenOf(const HttpRequest& request);

// What another site could not send: a browser adds cookies to its requests by itself, but not this.
bool IsFromOurPage(const HttpRequest& request);

// What a list is about: an admin for all projects who names none sees all, which is ''.
std::string ScopeOf(const Call& call);

inline constexpr const char* kCookieName = "tidemill";
inline constexpr const char* kPageField = "Tidemill-Request";
inline constexpr const char* kProjectField = "Tidemill-Project";

}  // namespace tidemill
