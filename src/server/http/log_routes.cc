// SPDX-License-Identifier: Apache-2.0
// What items wrote: read and searched in the object store.
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "logs/search.h"
#include "logs/shelf/item_log.h"
#include "logs/shelf/job_search.h"
#include "model/places.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/log_leads.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/log_json.h"

namespace tidemill {
namespace {

constexpr std::int64_t kTailMost = 100'000;

Error NoStore() {
  return {Code::kNotFound,
          "this deployment keeps no logs: give its servers an object store, with --objects"};
}

// The key below which the job's packs are.
Result<std::string> PlaceOf(const ApiState& state, const Job& job) {
  TIDEMILL_TRY(const ObjectStores::Place place,
               state.options.objects->Find(JobPlace(state.options.objects_url, job) + "logs/"));
  return place.key;
}

struct ItemQuery {
  JobId job = {};
  std::int64_t item = 0;
  LogWish wish = {};
  std::uint64_t after = 0;
  std::optional<std::size_t> tail = {};
  bool follow = false;
};

Result<ItemQuery> ReadItemQuery(JobId job, const Call& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto item = ParseNumber(call.names[1]);
  if (!item) return Fail(Code::kNotFound, "there is no item '" + call.names[1] + "'");
  TIDEMILL_TRY(const Query query,
               Query::Of(call.request.query, {"attempt", "tail", "after", "follow"}));
  ItemQuery read{.job = job, .item = *item};
  TIDEMILL_TRY(const std::int64_t attempt,
               query.Int("attempt", {.least = 1, .most = kMost, .absent = 0}));
  if (attempt > 0) read.wish.attempt = static_cast<std::int32_t>(attempt);
  TIDEMILL_TRY(const std::int64_t tail,
               query.Int("tail", {.least = 1, .most = kTailMost, .absent = 0}));
  if (tail > 0) read.tail = static_cast<std::size_t>(tail);
  if (const std::string* after = query.Find("after")) {
    const auto next = ParseLogNext(*after);
    if (!next) return While("after", next.error());
    read.wish = {next->round, next->attempt};
    read.after = next->parts;
  }
  TIDEMILL_TRY(read.follow, query.Flag("follow"));
  return read;
}

LogPageDoc DocOf(const ItemQuery& query, const LogLead& lead, const LogChoice& choice,
                 ItemLogPage&& page) {
  LogPageDoc doc;
  doc.item = query.item;
  doc.state = lead.state;
  doc.found = page.found;
  doc.round = page.who.round;
  doc.attempt = page.who.attempt;
  doc.next = FormatLogNext({page.who.round, page.who.attempt, page.next});
  doc.more = page.more;
  doc.ended = page.ended;
  doc.awaited = choice.has_end && !page.ended && !page.more;
  doc.fetched_bytes = page.fetched_bytes;
  for (ItemLogPart& part : page.parts) {
    doc.parts.push_back({.time_ms = part.time_ms,
                         .missing_bytes = static_cast<std::int64_t>(part.missing),
                         .over_limit = part.over_limit,
                         .lost_before = part.lost_before,
                         .text = std::move(part.text)});
  }
  return doc;
}

void ReadLog(ApiState& state, const ItemQuery& query, const LogLead& lead,
             const Reply<LogPageDoc>& reply) {
  const LogChoice choice = ChooseLog(lead, query.wish);
  if (choice.silent) return reply(DocOf(query, lead, choice, {}));
  const auto place = PlaceOf(state, lead.job);
  if (!place) return reply(tl::unexpected(place.error()));
  ReadItemLog(*state.packs,
              {.place = *place,
               .item = query.item,
               .round = choice.round,
               .attempt = choice.attempt,
               .last_pack = choice.last_pack,
               .after = query.after,
               .tail = query.tail},
              [query, lead, choice, reply](Result<ItemLogPage> page) {
                if (!page) return reply(tl::unexpected(page.error()));
                reply(DocOf(query, lead, choice, *std::move(page)));
              });
}

// The store is asked in the people's turn, the object store in its own: it may be slow.
template <typename Lead, typename Ask, typename Then>
void WithLead(ApiState& state, const Call& call, Ask ask, Then then,
              std::function<void(Error)> refuse) {
  state.people.Pass<Lead>(
      call.request.peer,
      [&state, ask = std::move(ask)](Reply<Lead> done) {
        OnStore(state.server.deps(), ask,
                [done = std::move(done)](Result<Lead> lead) { done(std::move(lead)); });
      },
      [then = std::move(then), refuse = std::move(refuse)](Result<Lead> lead) {
        if (!lead) return refuse(lead.error());
        then(*std::move(lead));
      });
}

void ItemLog(ApiState& state, JobId job, Call call) {
  if (state.packs == nullptr) return call.respond(ProblemAnswer(NoStore()));
  const auto query = ReadItemQuery(job, call);
  if (!query) return call.respond(ProblemAnswer(query.error()));
  // Whether it could be marked decides nothing: then the log comes later.
  if (query->follow) state.server.Follow(job, [](const Result<void>&) {});
  const std::shared_ptr<HttpPeer> peer = call.request.peer;
  const Reply<LogPageDoc> reply = AnswerWith<LogPageDoc>(
      state.log, call.respond,
      [](const LogPageDoc& page) { return JsonAnswer(FormatLogPage(page)); });
  WithLead<LogLead>(
      state, call,
      [job, item = query->item](Store& store) { return FindLogLead(store, job, item); },
      [&state, query = *query, peer, reply](const LogLead& lead) {
        state.logs.Pass<LogPageDoc>(
            peer,
            [&state, query, lead](const Reply<LogPageDoc>& done) {
              ReadLog(state, query, lead, done);
            },
            reply);
      },
      [reply](const Error& error) { reply(tl::unexpected(error)); });
}

struct SearchQuery {
  LogSearchAsk ask = {};
  std::optional<ItemState> state = {};
};

Result<SearchQuery> ReadSearchQuery(const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"grep", "state", "cursor", "limit"}));
  SearchQuery read;
  const std::string* grep = query.Find("grep");
  if (grep == nullptr) return Fail(Code::kInvalid, "grep: must be there");
  auto pattern = LogPattern::Parse(*grep);
  if (!pattern) return While("grep", pattern.error());
  read.ask.pattern = *std::move(pattern);
  if (const std::string* name = query.Find("state")) {
    read.state = ParseItemState(*name);
    if (!read.state) {
      return Fail(Code::kInvalid,
                  "state: must be waiting, running, succeeded, failed or cancelled");
    }
  }
  if (const std::string* cursor = query.Find("cursor")) read.ask.cursor = *cursor;
  TIDEMILL_TRY(
      const std::int64_t limit,
      query.Int("limit", {.least = 1, .most = limits::kPageRows, .absent = limits::kPageRows}));
  read.ask.hits_most = static_cast<std::size_t>(limit);
  return read;
}

LogHitsDoc DocOf(LogSearchPage&& page) {
  LogHitsDoc doc;
  for (LogSearchPage::Hit& hit : page.hits) {
    doc.hits.push_back(
        {hit.who.item, hit.who.round, hit.who.attempt, hit.time_ms, std::move(hit.line)});
  }
  doc.next = std::move(page.cursor);
  doc.packs = page.packs;
  doc.logs = page.attempts;
  doc.text_bytes = page.text_bytes;
  doc.damaged_packs = page.damaged;
  doc.fetched_bytes = page.fetched_bytes;
  return doc;
}

void Search(ApiState& state, JobId job, Call call) {
  if (state.packs == nullptr) return call.respond(ProblemAnswer(NoStore()));
  const auto query = ReadSearchQuery(call.request.query);
  if (!query) return call.respond(ProblemAnswer(query.error()));
  const std::shared_ptr<HttpPeer> peer = call.request.peer;
  const Reply<LogHitsDoc> reply = AnswerWith<LogHitsDoc>(
      state.log, call.respond,
      [](const LogHitsDoc& page) { return JsonAnswer(FormatLogHits(page)); });
  WithLead<SearchLead>(
      state, call,
      [job, wanted = query->state](Store& store) { return FindSearchLead(store, job, wanted); },
      [&state, asked = query->ask, peer, reply](const SearchLead& lead) {
        const auto place = PlaceOf(state, lead.job);
        if (!place) return reply(tl::unexpected(place.error()));
        LogSearchAsk ask = asked;
        ask.place = *place;
        ask.items = lead.items;
        state.logs.Pass<LogHitsDoc>(
            peer,
            [&state, ask](const Reply<LogHitsDoc>& done) {
              SearchLogs(*state.packs, state.server.deps().loop, ask,
                         [done](Result<LogSearchPage> page) {
                           if (!page) return done(tl::unexpected(page.error()));
                           done(DocOf(*std::move(page)));
                         });
            },
            reply);
      },
      [reply](const Error& error) { reply(tl::unexpected(error)); });
}

}  // namespace

void AddLogRoutes(Router& router, ApiState& state) {
  router.Get("/v1/jobs/{job}/items/{item}/log", Needs::kViewer, WithJob(state, ItemLog));
  router.Get("/v1/jobs/{job}/logs", Needs::kViewer, WithJob(state, Search));
}

}  // namespace tidemill
