// SPDX-License-Identifier: Apache-2.0
// What became of a job's items: failures by what they have in common, and every attempt.
#include <cstdint>
#include <string>
#include <utility>

#include "server/attempts.h"
#include "server/failures.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/failure_json.h"
#include "wire/outcome_json.h"

namespace tidemill {
namespace {

constexpr int kSomeAttempts = 1000;
// A page is some megabytes: fewer calls for who wants all, and still little memory.
constexpr int kMostAttempts = 5000;

// Reads on a worker, and makes the body there too: it may be long, and the loop has others to
// answer.
template <typename Make>
void AnswerWithBody(ApiState& state, Call call, Make make) {
  state.people.Pass<std::string>(
      call.request.peer,
      [&state, make = std::move(make)](Reply<std::string> done) {
        OnStore(state.server.deps(), make,
                [done = std::move(done)](Result<std::string> body) { done(std::move(body)); });
      },
      AnswerWith<std::string>(state.log, std::move(call.respond),
                              [](std::string& body) { return JsonAnswer(std::move(body)); }));
}

void Failures(ApiState& state, JobId job, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  AnswerWithBody(state, std::move(call), [job](Store& store) -> Result<std::string> {
    TIDEMILL_TRY(const FailureSummary summary, GroupFailures(store, job));
    return FormatFailures(summary);
  });
}

Result<AttemptsRequest> ReadAttempts(JobId job, const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"cursor", "limit"}));
  AttemptsRequest request{.job = job};
  if (const std::string* cursor = query.Find("cursor")) {
    const auto place = ParseOutcomePlace(*cursor);
    if (!place) return Fail(Code::kInvalid, "cursor: must be the 'next' of the page before");
    request.after = *place;
  }
  TIDEMILL_TRY(const std::int64_t limit,
               query.Int("limit", {.least = 1, .most = kMostAttempts, .absent = kSomeAttempts}));
  request.limit = static_cast<int>(limit);
  return request;
}

void Outcomes(ApiState& state, JobId job, Call call) {
  const auto request = ReadAttempts(job, call.request.query);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  AnswerWithBody(state, std::move(call), [request = *request](Store& store) -> Result<std::string> {
    TIDEMILL_TRY(const OutcomePage page, ListAttempts(store, request));
    return FormatOutcomes(page);
  });
}

}  // namespace

void AddResultRoutes(Router& router, ApiState& state) {
  router.Get("/v1/jobs/{job}/failures", Needs::kViewer, WithJob(state, Failures));
  router.Get("/v1/jobs/{job}/outcomes", Needs::kViewer, WithJob(state, Outcomes));
}

}  // namespace tidemill
