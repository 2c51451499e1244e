// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "cli/format.h"
#include "model/job.h"
#include "wire/problem_json.h"

namespace tidemill::cli {
namespace {

constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{5'000};
// Shorter troubles are nobody's business.
constexpr std::chrono::milliseconds kTellAfter{2'000};

HttpCall JsonCall(std::string method, std::string target, std::string body) {
  return {.method = std::move(method),
          .target = std::move(target),
          .content_type = "application/json",
          .body = std::move(body)};
}

char UpperCase(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// A line for each part of what was joined with "; ". All but the first begin as sentences do.
void ShowParts(const Console& console, std::string text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("; "), text.size());
    console.ErrLine(Wrap(text.substr(0, end), console.columns));
    text.erase(0, end + 2);
    if (!text.empty()) text[0] = UpperCase(text[0]);
  }
}

bool MayRepeat(Code code) {
  return code == Code::kUnavailable || code == Code::kUnknown || code == Code::kExhausted;
}

}  // namespace

Client::Client(AsioLoop& loop, const Console& console, std::string url, Origin origin,
               std::shared_ptr<const TlsTrust> trust, Credentials credentials)
    : loop_(loop),
      console_(console),
      url_(std::move(url)),
      credentials_(std::move(credentials)),
      http_(loop, std::move(origin), HttpClientOptions{.tls = std::move(trust)}) {}

void Client::AddCredentials(HttpCall& call) const {
  if (has_token()) call.headers.emplace_back("Authorization", "Bearer " + credentials_.token);
  if (!credentials_.project.empty()) {
    call.headers.emplace_back("Tidemill-Project", credentials_.project);
  }
}

tl::unexpected<Error> Client::ProblemIn(const HttpResponse& response) {
  forbidden_ = response.status == 401 || response.status == 403;
  Error problem = ParseProblem(response.status, response.body);
  problem.reason = Printable(problem.reason);
  return tl::unexpected<Error>(std::move(problem));
}

Result<std::string> Client::CallOnce(HttpCall call) {
  AddCredentials(call);
  // Shared: after an interruption the answer may come when nobody waits for it.
  const auto answer = std::make_shared<std::optional<Result<HttpResponse>>>();
  http_.Send(std::move(call), [this, answer](Result<HttpResponse> got) {
    *answer = std::move(got);
    loop_.Stop();
  });
  while (!*answer && !interrupted_) loop_.Run();
  reached_ = *answer && (*answer)->has_value();
  forbidden_ = false;
  if (!*answer) return Fail(Code::kUnknown, "interrupted");
  if (!**answer) return tl::unexpected<Error>(std::move(**answer).error());
  HttpResponse& response = ***answer;
  if (response.status / 100 == 2) return std::move(response.body);
  return ProblemIn(response);
}

void Client::Upgrade(HttpCall call, StreamDone done) {
  AddCredentials(call);
  http_.Upgrade(std::move(call),
                [this, done = std::move(done)](Result<HttpClient::Upgraded> upgraded) {
                  reached_ = upgraded.has_value();
                  forbidden_ = false;
                  if (!upgraded) return done(tl::unexpected(std::move(upgraded).error()));
                  if (upgraded->stream) return done(std::move(upgraded->stream));
                  done(ProblemIn(upgraded->answer));
                });
}

Result<std::string> Client::Call(HttpCall call, Patience patience) {
  const TimePoint began = loop_.Now();
  std::chrono::milliseconds pause = kFirstPause;
  bool told = false;
  while (true) {
    auto answer =
        interrupted_ ? Result<std::string>(Fail(Code::kUnknown, "interrupted")) : CallOnce(call);
    if (answer || interrupted_ || !MayRepeat(answer.error().code)) return answer;
    const auto waited = loop_.Now() - began;
    if (waited + pause > (reached_ ? patience.busy : patience.away)) return answer;
    if (!told && waited >= kTellAfter) {
      told = true;
      console_.ErrLine("the server at " + url_ + " does not take it now (" + answer.error().reason +
                       "); trying again");
    }
    Sleep(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

Result<std::string> Client::Get(std::string target, Patience patience) {
  return Call({.method = "GET", .target = std::move(target)}, patience);
}

Result<std::string> Client::Post(std::string target, std::string body, Patience patience) {
  return Call(JsonCall("POST", std::move(target), std::move(body)), patience);
}

Result<std::string> Client::Put(std::string target, std::string body, Patience patience) {
  return Call(JsonCall("PUT", std::move(target), std::move(body)), patience);
}

Result<std::string> Client::Delete(std::string target, Patience patience) {
  return Call({.method = "DELETE", .target = std::move(target)}, patience);
}

void Client::Sleep(std::chrono::milliseconds time) {
  bool over = false;
  const TimerId timer = loop_.After(time, [&] {
    over = true;
    loop_.Stop();
  });
  while (!over && !interrupted_) loop_.Run();
  loop_.Cancel(timer);
}

void Client::Interrupt() {
  interrupted_ = true;
  loop_.Stop();
}

int Explain(const Console& console, const Client& client, const Error& error,
            const std::string& job) {
  if (client.interrupted()) return kInterrupted;
  if (client.forbidden()) {
    console.ErrLine("not allowed: " + error.reason);
    if (error.code == Code::kNobody) {
      console.ErrLine("Sign in:  tidemill login " + client.url());
    } else if (error.reason.find("role") != std::string::npos) {
      console.ErrLine("Ask an admin for a token with that role; tidemill whoami shows yours.");
    }
    return kNotAllowed;
  }
  if (!client.reached()) {
    std::string reason = error.reason;
    if (reason.starts_with("the certificate of ")) {
      ShowParts(console, reason);
      return kNoServer;
    }
    if (reason.starts_with("connect: ")) reason.erase(0, 9);
    if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z') reason[0] += 'a' - 'A';
    console.ErrLine("cannot reach the server at " + client.url() + ": " + reason);
    console.ErrLine(
        "Is it running?  Start one here with tidemill up, or name another: --server URL");
    return kNoServer;
  }
  switch (error.code) {
    case Code::kNotFound:
      console.ErrLine(job.empty() ? error.reason
                                  : "no job '" + job + "'; tidemill jobs lists them");
      return kNoSuchThing;
    case Code::kUnavailable:
    case Code::kUnknown:
    case Code::kExhausted:
      console.ErrLine("the server at " + client.url() + " does not take it now: " + error.reason);
      console.ErrLine("Nothing is lost by trying again in a minute.");
      return kNoServer;
    case Code::kInvalid:
      console.ErrLine(error.reason);
      return kWrongUse;
    default:
      console.ErrLine(job.empty() ? error.reason : job + ": " + error.reason);
      return kFailed;
  }
}

bool CheckName(const Console& console, const std::string& whose, const std::string& name) {
  if (IsName(name)) return true;
  console.ErrLine("'" + Printable(name) + "' cannot be " + whose + " name: at most " +
                  std::to_string(limits::kNameBytes) + " letters, digits, '.', '_' and '-'");
  return false;
}

std::string JobTarget(const std::string& job, const std::string& tail) {
  return "/v1/jobs/" + PercentEncode(job) + tail;
}

}  // namespace tidemill::cli
