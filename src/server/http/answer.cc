// SPDX-License-Identifier: Apache-2.0
#include "server/http/answer.h"

#include "wire/problem_json.h"

namespace tidemill {
namespace {

HttpResponse Answer(const Problem& problem) {
  HttpResponse response{.status = problem.status,
                        .content_type = std::string(kProblemType),
                        .body = FormatProblem(problem)};
  const bool later = problem.status == 429 || problem.status == 503;
  if (later) response.headers.emplace_back("Retry-After", "1");
  if (problem.status == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"tidemill\"");
  }
  return response;
}

}  // namespace

Error ForStrangers(Error error) {
  const bool outage = error.code == Code::kUnavailable || error.code == Code::kUnknown;
  if (outage && error.reason.find("PostgreSQL") != std::string::npos) {
    error.reason = "the server has lost its database for now";
  }
  return error;
}

HttpResponse JsonAnswer(std::string body, int status) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

HttpResponse ProblemAnswer(const Error& error) { return Answer(ProblemOf(error)); }

HttpResponse ProblemAnswer(int status, std::string detail) {
  return Answer(ProblemOf(status, std::move(detail)));
}

}  // namespace tidemill
