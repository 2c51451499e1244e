// SPDX-License-Identifier: Apache-2.0
// The items of a job, as people read them, and as they add to them.
#include <cstdint>
#include <utility>

#include "base/limits.h"
#include "model/chunk.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/chunk_answer.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/arrival_json.h"
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

Result<ArrivingItems> ReadArriving(Call& call) {
  TIDEMILL_TRY(const Query query, Query::Of(call.request.query, {"key"}));
  ArrivingItems items;
  if (const std::string* key = query.Find("key")) {
    if (!call.is_text) {
      return Fail(Code::kInvalid, "key: is of a list as text; entries have their own 'once'");
    }
    if (key->empty() || key->size() > kItemsKeyBytes) {
      return Fail(Code::kInvalid,
                  "key: must have 1 to " + std::to_string(kItemsKeyBytes) + " bytes");
    }
    items.key = *key;
  }
  if (call.is_text) {
    items.text = std::move(call.request.body);
    return items;
  }
  TIDEMILL_TRY(std::vector<Arrival> arrivals, ParseArrivals(call.request.body));
  for (Arrival& arrival : arrivals) {
    items.entries.push_back({std::move(arrival.item), std::move(arrival.once)});
  }
  return items;
}

void AddItems(ApiState& state, JobId job, Call call) {
  auto items = ReadArriving(call);
  if (!items) return call.respond(ProblemAnswer(items.error()));
  state.people.Pass<Added>(
      call.request.peer,
      [&state, job, items = *std::move(items)](Reply<Added> done) mutable {
        state.server.jobs().AddItems(job, std::move(items), std::move(done));
      },
      AnswerWith<Added>(state.log, std::move(call.respond), [](const Added& added) {
        return JsonAnswer(FormatAdded({added.job, added.first, added.added, added.known}));
      }));
}

}  // namespace

void AddItemRoutes(Router& router, ApiState& state) {
  const Body list{.json_bytes = limits::kPartBytes, .text_bytes = limits::kPartBytes};
  router.Get("/v1/jobs/{job}/items", Needs::kViewer, WithJob(state, Items));
  router.Post("/v1/jobs/{job}/items", Needs::kSubmitter, list, WithJob(state, AddItems));
  router.Get("/v1/jobs/{job}/stats", Needs::kViewer, WithJob(state, Stats));
  router.Get("/v1/jobs/{job}/chunks/{chunk}/items", Needs::kViewer, WithJob(state, ChunkBody));
}

}  // namespace tidemill
