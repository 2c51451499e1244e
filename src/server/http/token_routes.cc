// SPDX-License-Identifier: Apache-2.0
// /v1/tokens, /v1/login, /v1/logout, /v1/whoami
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "model/token.h"
#include "server/http/ask_access.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/access_json.h"
#include "wire/job_json.h"

namespace tidemill {
namespace {

constexpr int kSomeTokens = 100;
// A day's work. A browser that is left open does not stay signed in for longer.
constexpr std::chrono::hours kCookieLife{12};

// Whoever makes a token gives away no more than they have: their own project, unless they are for
// all of them.
Result<NewToken> ReadNewToken(ApiState& state, const Call& call) {
  TIDEMILL_TRY(NewToken token, ParseNewToken(call.request.body));
  const bool for_all = call.caller.project.empty();
  if (token.project.empty()) token.project = call.project;
  if (token.project == kAllProjects) {
    if (!for_all) return Fail(Code::kForbidden, "only an admin for all projects may make such");
    if (token.kind == TokenKind::kJoin) return Fail(Code::kInvalid, "project: a pool has just one");
    token.project.clear();
  } else if (!for_all && token.project != call.project) {
    return Fail(Code::kNotFound, "there is no such project");
  }
  token.id = state.random.NewId<TokenId>();
  token.secret = MakeToken(token.kind == TokenKind::kJoin ? kJoinPrefix : kApiPrefix, state.random);
  token.made_by = call.caller.name;
  return token;
}

void CreateToken(ApiState& state, Call call) {
  const auto token = ReadNewToken(state, call);
  if (!token) return call.respond(ProblemAnswer(token.error()));
  AskAccess<Token>(
      state, std::move(call),
      [token = *token](AccessStore& store) { return store.CreateToken(token); },
      [secret = token->secret](const Token& made) {
        HttpResponse response = JsonAnswer(FormatMadeToken({made, secret}), 201);
        response.headers.emplace_back("Cache-Control", "no-store");
        return response;
      });
}

Result<TokenFilter> ReadFilter(const Call& call) {
  TIDEMILL_TRY(const Query query, Query::Of(call.request.query, {"after", "limit"}));
  TokenFilter filter;
  filter.project = ScopeOf(call);
  if (const std::string* text = query.Find("after")) {
    const auto after = ParseId<TokenId>(*text);
    if (!after) return Fail(Code::kInvalid, "after: must be the 'next' of the page before");
    filter.after = *after;
  }
  TIDEMILL_TRY(const std::int64_t limit,
               query.Int("limit", {.least = 1, .most = limits::kPageRows, .absent = kSomeTokens}));
  filter.limit = static_cast<int>(limit);
  return filter;
}

void ListTokens(ApiState& state, Call call) {
  const auto filter = ReadFilter(call);
  if (!filter) return call.respond(ProblemAnswer(filter.error()));
  AskAccess<std::vector<Token>>(
      state, std::move(call),
      [filter = *filter](AccessStore& store) { return store.ListTokens(filter); },
      [limit = filter->limit](const std::vector<Token>& tokens) {
        return JsonAnswer(FormatTokens(tokens, static_cast<int>(tokens.size()) == limit));
      });
}

void Revoke(ApiState& state, Call call) {
  const auto id = ParseId<TokenId>(call.names[0]);
  if (!id) return call.respond(ProblemAnswer(404, "there is no such token"));
  const std::string project = ScopeOf(call);
  AskAccess<Token>(
      state, std::move(call),
      [id = *id, project](AccessStore& store) { return store.RevokeToken(project, id); },
      [](const Token& token) { return JsonAnswer(FormatToken(token)); });
}

HttpResponse WithCookie(HttpResponse response, const std::string& value, std::int64_t seconds,
                        bool secure) {
  response.headers.emplace_back("Set-Cookie", std::string(kCookieName) + "=" + value +
                                                  "; Path=/; Max-Age=" + std::to_string(seconds) +
                                                  "; HttpOnly; SameSite=Strict" +
                                                  (secure ? "; Secure" : ""));
  return response;
}

// The audit has it before the cookie is given.
Result<void> OpenBrowser(AccessStore& store, const Caller& caller, const std::string& cookie,
                         const std::string& address) {
  TIDEMILL_TRY_VOID(store.Record({.project = caller.project,
                                  .who = caller.name,
                                  .token = ToString(caller.token),
                                  .address = address,
                                  .action = "POST /v1/login"}));
  return store.OpenBrowser(caller.token, cookie, kCookieLife);
}

void GiveCookie(ApiState& state, Call call, const Caller& caller) {
  const std::string cookie = MakeToken(kBrowserPrefix, state.random);
  const std::string address = call.request.address;
  const bool secure = call.request.is_tls;
  AskAccess<void>(
      state, std::move(call),
      [caller, cookie, address](AccessStore& store) {
        return OpenBrowser(store, caller, cookie, address);
      },
      [caller, cookie, secure] {
        return WithCookie(JsonAnswer(FormatCaller(caller)), cookie,
                          std::chrono::seconds(kCookieLife).count(), secure);
      });
}

void Login(ApiState& state, Call call) {
  if (!IsFromOurPage(call.request)) {
    return call.respond(ProblemAnswer(403, "sign in from our own page"));
  }
  const auto secret = ParseLogin(call.request.body);
  if (!secret) return call.respond(ProblemAnswer(secret.error()));
  // Not with a cookie, which would then never end.
  if (!IsToken(kApiPrefix, *secret)) {
    return call.respond(ProblemAnswer(401, "sign in with an API token"));
  }
  auto held = std::make_shared<Call>(std::move(call));
  state.guard.Identify(*secret, held->request.address, held->request.peer,
                       [&state, held](Result<Caller> caller) {
                         if (caller) return GiveCookie(state, std::move(*held), *caller);
                         held->respond(ProblemAnswer(ForStrangers(caller.error())));
                       });
}

void Logout(ApiState& state, Call call) {
  const std::string cookie = call.token;
  const bool secure = call.request.is_tls;
  AskAccess<void>(
      state, std::move(call), [cookie](AccessStore& store) { return store.CloseBrowser(cookie); },
      [secure] { return WithCookie({.status = 204}, "", 0, secure); });
}

void WhoAmI(const Call& call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  call.respond(JsonAnswer(FormatCaller(call.caller)));
}

}  // namespace

void AddTokenRoutes(Router& router, ApiState& state) {
  const Body json{.json_bytes = kJsonBytes};
  const Body nothing{.json_bytes = kJsonBytes, .may_be_absent = true};
  router.Post("/v1/tokens", Needs::kAdmin, json,
              [&state](Call call) { CreateToken(state, std::move(call)); });
  router.Get("/v1/tokens", Needs::kAdmin,
             [&state](Call call) { ListTokens(state, std::move(call)); });
  router.Delete("/v1/tokens/{token}", Needs::kAdmin,
                [&state](Call call) { Revoke(state, std::move(call)); });
  router.Post("/v1/login", Needs::kNothing, json,
              [&state](Call call) { Login(state, std::move(call)); });
  router.Post("/v1/logout", Needs::kViewer, nothing,
              [&state](Call call) { Logout(state, std::move(call)); });
  router.Get("/v1/whoami", Needs::kViewer, [](const Call& call) { WhoAmI(call); });
}

}  // namespace tidemill
