// SPDX-License-Identifier: Apache-2.0
#include "wire/problem_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/json.h"

namespace tidemill {
namespace {

struct Kind {
  Code code;  // what the one who asked may do
  int status;
  std::string_view name;
  std::string_view title;
  std::string_view next;
};

// The first of a code, and the first of a status, is the one that stands for it.
constexpr std::array kKinds = {
    Kind{Code::kInvalid, 400, "invalid", "The request is wrong",
         "Change what the detail names and send it again."},
    Kind{Code::kNobody, 401, "nobody", "Who are you?",
         "Show a token that is good here: tidemill login."},
    Kind{Code::kForbidden, 403, "forbidden", "You may not do this",
         "Ask whoever runs this server for a token with the role that the detail names."},
    Kind{Code::kNotFound, 404, "not_found", "There is no such thing",
         "Look at what there is: GET /v1/jobs."},
    Kind{Code::kConflict, 409, "conflict", "It is in another state than that",
         "Read it again, then decide: GET /v1/jobs/{job}."},
    Kind{Code::kLost, 410, "lost", "The session has ended",
         "Drop its work and join again with a new session."},
    Kind{Code::kExhausted, 429, "exhausted", "A limit is reached", "Wait, then send it again."},
    Kind{Code::kUnavailable, 503, "unavailable", "Not now",
         "Nothing was done: send it again after a moment."},
    Kind{Code::kUnknown, 503, "unknown", "It may have been done",
         "Send the same again: every call may be repeated."},
    Kind{Code::kInternal, 500, "internal", "A bug of ours",
         "Please report it with the time it happened; the server's log has the reason."},
    Kind{Code::kInvalid, 405, "method", "That cannot be done to this path",
         "Use one of the methods in the Allow header."},
    Kind{Code::kInvalid, 408, "timeout", "The request did not come in time",
         "Send it again, over a quicker connection or in smaller parts."},
    Kind{Code::kInvalid, 413, "too_large", "The body is too large",
         "Send less at once: items can be sent in several parts."},
    Kind{Code::kInvalid, 415, "content_type", "The body is of the wrong type",
         "Send the body with the Content-Type that the detail names."},
    Kind{Code::kInvalid, 426, "upgrade", "This is a stream",
         "Ask for it as the detail says, or with the command that it names."},
    Kind{Code::kInvalid, 431, "header_too_large", "The header is too large",
         "Send fewer or shorter header fields."},
    Kind{Code::kInvalid, 501, "not_implemented", "Not spoken here",
         "Send the request as plain HTTP/1.1 with a length."},
    Kind{Code::kInvalid, 505, "http_version", "Not spoken here", "Use HTTP/1.1."},
};

template <typename Match>
const Kind& FindKind(Match match, const Kind& otherwise) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(), match);
  return found == kKinds.end() ? otherwise : *found;
}

const Kind& InternalKind() { return kKinds[9]; }
static_assert(kKinds[9].code == Code::kInternal);

Problem Make(const Kind& kind, int status, std::string detail) {
  return {status, std::string(kind.name), std::string(kind.title), std::move(detail),
          std::string(kind.next)};
}

constexpr std::string_view kTypePrefix = "/problems/";

// A field of an answer that may be anything; empty if it is not there as text.
std::string_view ProblemText(const Result<json::Value>& value, const char* field) {
  if (!value || !value->is_object()) return {};
  const auto found = value->find(field);
  if (found == value->end() || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

}  // namespace

Problem ProblemOf(const Error& error) {
  const Kind& kind = FindKind([&](const Kind& k) { return k.code == error.code; }, InternalKind());
  if (kind.code == Code::kInternal) {
    return Make(kind, kind.status, "the server met something that cannot be");
  }
  return Make(kind, kind.status, error.reason);
}

Problem ProblemOf(int status, std::string detail) {
  const Kind& otherwise = status < 500 ? kKinds[0] : InternalKind();
  return Make(FindKind([&](const Kind& k) { return k.status == status; }, otherwise), status,
              std::move(detail));
}

std::string FormatProblem(const Problem& problem) {
  std::string out = "{\"type\":" + json::Quoted(std::string(kTypePrefix) + problem.code);
  out.append(",\"title\":").append(json::Quoted(problem.title));
  out.append(",\"status\":").append(std::to_string(problem.status));
  out.append(",\"detail\":").append(json::Quoted(problem.detail));
  return out.append(",\"next\":").append(json::Quoted(problem.next)).append("}");
}

Error ParseProblem(int status, std::string_view body) {
  std::string_view name;
  std::string reason = "the server answered " + std::to_string(status);
  const auto value = json::Parse(body);
  if (const auto detail = ProblemText(value, "detail"); !detail.empty()) reason = detail;
  if (const auto type = ProblemText(value, "type"); type.starts_with(kTypePrefix)) {
    name = type.substr(kTypePrefix.size());
  }
  const auto* named =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == name; });
  if (named != kKinds.end()) return {named->code, std::move(reason)};
  // Something in between has answered: a gateway that could not reach the server, for one.
  if (status >= 500) return {Code::kUnknown, std::move(reason)};
  const Kind& kind = FindKind([&](const Kind& k) { return k.status == status; }, kKinds[0]);
  return {kind.code, std::move(reason)};
}

Problem ReadProblem(int status, std::string_view body) {
  Problem problem = ProblemOf(status, "the server answered " + std::to_string(status));
  const auto value = json::Parse(body);
  if (const auto type = ProblemText(value, "type"); type.starts_with(kTypePrefix)) {
    problem.code = type.substr(kTypePrefix.size());
  }
  if (const auto title = ProblemText(value, "title"); !title.empty()) problem.title = title;
  if (const auto detail = ProblemText(value, "detail"); !detail.empty()) problem.detail = detail;
  if (const auto next = ProblemText(value, "next"); !next.empty()) problem.next = next;
  return problem;
}

}  // namespace tidemill
