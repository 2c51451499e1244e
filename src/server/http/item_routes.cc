// SPDX-License-Identifier: Apache-2.0
// The items of a job, as people and agents read them.
#include <cstdint>
#include <utility>

#include "base/limits.h"
#include "model/chunk.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/chunk_answer.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/item_json.h"
#include "wire/stats_json.h"

namespace tidemill {
namespace {

constexpr int kSomeItems = 100;

Result<ItemsRequest> ReadItemsRequest(JobId job, const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"state", "page", "limit", "outcomes"}));
  ItemsRequest request;
  request.job = job;
  if (const std::string* name = query.Find("state")) {
    request.state = ParseItemState(*name);
    if (!request.state) {
      return Fail(Code::kInvalid,
                  "state: must be waiting, running, succeeded, failed or cancelled");
    }
  }
  if (const std::string* page = query.Find("page")) {
    const auto place = ParsePlace(*page);
    if (!place) return Fail(Code::kInvalid, "page: must be the 'next' of the page before");
    request.from = *place;
  }
  TIDEMILL_TRY(const std::int64_t limit,
               query.Int("limit", {.least = 1, .most = limits::kPageRows, .absent = kSomeItems}));
  request.limit = static_cast<int>(limit);
  TIDEMILL_TRY(request.outcomes, query.Flag("outcomes"));
  return request;
}

void Items(ApiState& state, JobId job, Call call) {
  auto request = ReadItemsRequest(job, call.request.query);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  state.people.Pass<ItemPage>(
      call.request.peer,
      [&state, request = *std::move(request)](Reply<ItemPage> done) {
        state.server.jobs().Items(request, std::move(done));
      },
      AnswerWith<ItemPage>(state.log, std::move(call.respond),
                           [](const ItemPage& page) { return JsonAnswer(FormatItems(page)); }));
}

void Stats(ApiState& state, JobId job, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  state.people.Pass<JobStats>(
      call.request.peer,
      [&state, job](Reply<JobStats> done) { state.server.jobs().Stats(job, std::move(done)); },
      AnswerWith<JobStats>(state.log, std::move(call.respond), [](const JobStats& stats) {
        return JsonAnswer(FormatStats(stats.summary, stats.partial));
      }));
}

void ChunkBody(ApiState& state, JobId job, Call call) {
  const auto number = ReadChunkNumber(call.names[1]);
  if (!number) return call.respond(ProblemAnswer(number.error()));
  const ChunkKey key{job, *number};
  state.people.Pass<ChunkItems>(
      call.request.peer,
      [&state, key](Reply<ChunkItems> done) {
        state.server.jobs().ChunkBody(key, std::move(done));
      },
      AnswerWith<ChunkItems>(state.log, std::move(call.respond), [](ChunkItems& items) {
        return ChunkAnswer(std::move(items), Keep::kNot);
      }));
}

}  // namespace

void AddItemRoutes(Router& router, ApiState& state) {
  router.Get("/v1/jobs/{job}/items", Needs::kViewer, WithJob(state, Items));
  router.Get("/v1/jobs/{job}/stats", Needs::kViewer, WithJob(state, Stats));
  router.Get("/v1/jobs/{job}/chunks/{chunk}/items", Needs::kViewer, WithJob(state, ChunkBody));
}

}  // namespace tidemill
