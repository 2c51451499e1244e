// SPDX-License-Identifier: Apache-2.0
#include "server/http/guard.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "model/job.h"
#include "model/token.h"
#include "server/http/answer.h"

namespace tidemill {
namespace {

// Wrong tokens from one address: enough for slips, far too few for guessing.
constexpr Rates::Rate kWrongTokens{.per_second = 1, .burst = 20};
// Of a body without a token: a proof or a login has far less.
constexpr std::size_t kStrangersBytes = 64 << 10;
// How many seconds' worth of calls may come at once.
constexpr double kBurstSeconds = 4;

HttpResponse NobodyAnswer(std::string detail) {
  return ProblemAnswer(Error{Code::kNobody, std::move(detail)});
}

std::string Joins(const std::string& address) { return "join " + address; }
std::string Proofs(const std::string& address) { return "proof " + address; }
std::string People(const std::string& address) { return "person " + address; }

bool IsAgents(Needs needs) { return needs == Needs::kJoinToken || needs == Needs::kSessionToken; }

bool CouldBe(Needs needs, const std::string& secret) {
  if (!IsAgents(needs)) return IsToken(kApiPrefix, secret) || IsToken(kBrowserPrefix, secret);
  return IsToken(kSessionPrefix, secret) ||
         (needs == Needs::kJoinToken && IsToken(kJoinPrefix, secret));
}

bool IsWrite(const HttpRequest& request) { return request.method != "GET"; }

// What stands in a path may be anything, also a token that somebody took for its id.
std::string InOneLine(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 200;
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ' ';
    text += name.starts_with(kApiPrefix) ? std::string(kApiPrefix) + "..." : name;
  }
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.substr(0, kMost);
}

}  // namespace

std::optional<ShownToken> TokenOf(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  if (const std::string* field = FindField(request.headers, "Authorization")) {
    if (!field->starts_with(kBearer)) return std::nullopt;
    return ShownToken{field->substr(kBearer.size()), false};
  }
  const std::string* cookies = FindField(request.headers, "Cookie");
  if (cookies == nullptr) return std::nullopt;
  const std::string name = std::string(kCookieName) + "=";
  std::string_view rest = *cookies;
  while (!rest.empty()) {
    const std::size_t end = rest.find(';');
    std::string_view cookie = rest.substr(0, end);
    while (cookie.starts_with(' ')) cookie.remove_prefix(1);
    if (cookie.starts_with(name)) return ShownToken{std::string(cookie.substr(name.size())), true};
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return std::nullopt;
}

bool IsFromOurPage(const HttpRequest& request) {
  if (FindField(request.headers, kPageField) == nullptr) return false;
  const std::string* origin = FindField(request.headers, "Origin");
  const std::string* host = FindField(request.headers, "Host");
  if (origin == nullptr) return true;
  return host != nullptr && (*origin == "https://" + *host || *origin == "http://" + *host);
}

std::string ScopeOf(const Call& call) {
  const bool named = FindField(call.request.headers, kProjectField) != nullptr;
  return call.caller.project.empty() && !named ? std::string() : call.project;
}

HttpAdmission Guard::Foresee(Needs needs, const HttpRequest& head) const {
  if (needs == Needs::kNothing) return {.max_body_bytes = kStrangersBytes};
  const auto shown = TokenOf(head);
  // Whoever joins may bring a proof in its place.
  if (!shown && needs == Needs::kJoinToken) return {.max_body_bytes = kStrangersBytes};
  if (!shown || !CouldBe(needs, shown->secret)) return {.reads_body = false};
  return {.known = known_.IsGood(shown->secret)};
}

void Guard::Admit(Needs needs, std::string action, Call call, Router::Route route) {
  if (needs == Needs::kNothing) return route(std::move(call));
  const auto shown = TokenOf(call.request);
  // Whoever joins may bring a proof in its place.
  if (!shown && needs == Needs::kJoinToken) return route(std::move(call));
  if (!shown) return call.respond(NobodyAnswer("this call needs a token; see: tidemill login"));
  call.token = shown->secret;
  if (IsAgents(needs)) {
    return AdmitAgent(needs, std::move(call), route);
  }
  if (shown->by_cookie && IsWrite(call.request) && !IsFromOurPage(call.request)) {
    return call.respond(ProblemAnswer(
        Error{Code::kForbidden, "a write with a cookie must come from our own page"}));
  }
  // A reply must be copyable, and the body should not be copied with it.
  auto held = std::make_shared<Call>(std::move(call));
  Identify(held->token, held->request.address, held->request.peer,
           [this, needs, action = std::move(action), held,
            route = std::move(route)](Result<Caller> caller) {
             if (!caller) return held->respond(ProblemAnswer(ForStrangers(caller.error())));
             held->caller = *std::move(caller);
             Enter(needs, action, held, route);
           });
}

void Guard::AdmitAgent(Needs needs, Call call, const Router::Route& route) {
  if (!CouldBe(needs, call.token)) {
    return call.respond(NobodyAnswer("this call is an agent's, and needs its token"));
  }
  route(std::move(call));
}

Result<void> Guard::MayJoin(const std::string& secret, const std::string& address) const {
  const TimePoint now = server_.deps().loop.Now();
  if (known_.IsGood(secret)) return {};
  if (known_.IsWrong(secret, now)) return Fail(Code::kNobody, "this join token is not valid");
  if (wrong_.Has(Joins(address), kWrongTokens, now)) return {};
  return Fail(Code::kExhausted, "too many wrong join tokens came from your address");
}

void Guard::NoteWrongJoin(const std::string& secret, const std::string& address) {
  const TimePoint now = server_.deps().loop.Now();
  known_.NoteWrong(secret, now);
  wrong_.Take(Joins(address), kWrongTokens, now);
}

void Guard::Prove(MachineProof proof, const std::string& address, Reply<ProvenMachine> reply) {
  if (!wrong_.Has(Proofs(address), kWrongTokens, server_.deps().loop.Now())) {
    return reply(Fail(Code::kExhausted, "too many wrong proofs came from your address"));
  }
  server_.Prove(std::move(proof),
                [this, address, reply = std::move(reply)](Result<ProvenMachine> proven) {
                  if (!proven && proven.error().code == Code::kNobody) {
                    wrong_.Take(Proofs(address), kWrongTokens, server_.deps().loop.Now());
                  }
                  reply(std::move(proven));
                });
}

void Guard::Identify(const std::string& secret, const std::string& address,
                     const std::shared_ptr<HttpPeer>& peer, Reply<Caller> reply) {
  const TimePoint now = server_.deps().loop.Now();
  // Neither of these costs a look at the store, so they keep nobody else at the address waiting.
  if (!CouldBe(Needs::kViewer, secret)) {
    return reply(Fail(Code::kNobody, "this is not a token of a person"));
  }
  if (known_.IsWrong(secret, now)) return reply(Fail(Code::kNobody, "this token is not valid"));
  // Others behind the same address go on: what was good lately is looked up all the same.
  if (!known_.IsGood(secret) && !wrong_.Has(People(address), kWrongTokens, now)) {
    return reply(Fail(Code::kExhausted, "too many wrong tokens came from your address"));
  }
  gate_.Pass<Caller>(
      peer,
      [this, secret](Reply<Caller> done) {
        OnAccess(
            server_.deps(), [secret](AccessStore& store) { return store.FindCaller(secret); },
            [done = std::move(done)](Result<Caller> caller) { done(std::move(caller)); });
      },
      [this, secret, address, reply = std::move(reply)](Result<Caller> caller) {
        if (caller) known_.NoteGood(secret);
        if (!caller && caller.error().code == Code::kNobody) {
          const TimePoint then = server_.deps().loop.Now();
          known_.NoteWrong(secret, then);
          wrong_.Take(People(address), kWrongTokens, then);
          log_.Warn("token.wrong", {{"address", address}, {"why", caller.error().reason}});
        }
        reply(std::move(caller));
      });
}

// A project's token is of that project and no other; one for all of them says which it means.
void Guard::Enter(Needs needs, std::string action, std::shared_ptr<Call> call,
                  Router::Route route) {
  const std::string* asked = FindField(call->request.headers, kProjectField);
  const Caller& caller = call->caller;
  const auto no_such = [&] {
    call->respond(ProblemAnswer(Error{Code::kNotFound, "there is no such project"}));
  };
  if (!caller.project.empty()) {
    if (asked != nullptr && *asked != caller.project) return no_such();
    call->project = caller.project;
    return EnterProject(needs, std::move(action), std::move(call), std::move(route), caller.limits);
  }
  call->project = asked == nullptr ? std::string(kDefaultProject) : *asked;
  if (!IsName(call->project)) return no_such();
  gate_.Pass<Project>(
      call->request.peer,
      [this, name = call->project](Reply<Project> done) {
        OnAccess(
            server_.deps(), [name](AccessStore& store) { return store.FindProject(name); },
            [done = std::move(done)](Result<Project> project) { done(std::move(project)); });
      },
      [this, needs, action = std::move(action), call,
       route = std::move(route)](Result<Project> project) {
        if (!project) return call->respond(ProblemAnswer(ForStrangers(project.error())));
        EnterProject(needs, action, call, route, project->limits);
      });
}

void Guard::EnterProject(Needs needs, std::string action, std::shared_ptr<Call> call,
                         Router::Route route, const ProjectLimits& limits) {
  const Caller& caller = call->caller;
  const bool allowed = Suffices(caller, needs);
  // Also of one whose role is not enough: each such write is a row of the audit.
  if (!KeepsRate(*call, limits)) {
    return call->respond(
        ProblemAnswer(Error{Code::kExhausted, "more calls than this project may make"}));
  }
  const auto go_on = [call, route = std::move(route), allowed, needs] {
    if (allowed) return route(std::move(*call));
    call->respond(ProblemAnswer(
        Error{Code::kForbidden, "this needs the role " + std::string(NeedsName(needs)) +
                                    "; your token '" + call->caller.name + "' has " +
                                    std::string(RoleName(call->caller.role))}));
  };
  if (!IsWrite(call->request)) return go_on();
  Record(*call, action, allowed, [this, call, go_on](Result<void> recorded) {
    if (recorded) return go_on();
    AnswerWith<void>(log_, call->respond, [] { return HttpResponse{}; })(recorded);
  });
}

bool Guard::KeepsRate(const Call& call, const ProjectLimits& limits) {
  const double per_second = limits.calls_per_second;
  const Rates::Rate rate{.per_second = per_second, .burst = per_second * kBurstSeconds};
  // So that one token that runs wild leaves something to the others.
  const Rates::Rate half{.per_second = rate.per_second / 2, .burst = rate.burst / 2};
  const TimePoint now = server_.deps().loop.Now();
  return rates_.Take("token " + ToString(call.caller.token), half, now) &&
         rates_.Take("project " + call.project, rate, now);
}

void Guard::Record(const Call& call, const std::string& action, bool allowed, Reply<void> reply) {
  const AuditRow row{.project = call.project,
                     .who = call.caller.name,
                     .token = ToString(call.caller.token),
                     .address = call.request.address,
                     .action = action,
                     .target = InOneLine(call.names),
                     .allowed = allowed};
  gate_.Pass<void>(
      call.request.peer,
      [this, row](Reply<void> done) {
        OnAccess(
            server_.deps(), [row](AccessStore& store) { return store.Record(row); },
            [done = std::move(done)](Result<void> recorded) { done(std::move(recorded)); });
      },
      std::move(reply));
}

}  // namespace tidemill
