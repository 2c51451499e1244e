// SPDX-License-Identifier: Apache-2.0
// /v1/jobs and what is done to one job.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "base/limits.h"
#include "model/image_needs.h"
#include "model/job.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/job_wishes.h"
#include "server/http/pinning.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/job_json.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

// A job comes with its spec, so that a page of them must be short.
constexpr int kMostJobs = 200;
constexpr int kSomeJobs = 100;
constexpr std::int64_t kMostParts = std::numeric_limits<std::int32_t>::max();

HttpResponse JobAnswer(const Job& job) { return JsonAnswer(FormatJob(job)); }

// New, as far as anyone can see: a repeated request that finds the job still empty is told the same
// as the first one.
HttpResponse CreatedAnswer(const Job& job, const std::string& note) {
  // The job that was there already may have been pinned before.
  const std::string body = FormatMadeJob(job, job.image_digest.empty() ? note : "");
  if (job.state != JobState::kDraft || job.parts > 0) return JsonAnswer(body);
  HttpResponse response = JsonAnswer(body, 201);
  response.headers.emplace_back("Location", "/v1/jobs/" + PublicId(job));
  return response;
}

void MakeJob(ApiState& state, NewJob job, std::string note, const std::shared_ptr<HttpPeer>& peer,
             HttpRespond respond) {
  state.people.Pass<Job>(
      peer,
      [&state, job = std::move(job)](Reply<Job> done) {
        state.server.jobs().Create(job, std::move(done));
      },
      AnswerWith<Job>(state.log, std::move(respond),
                      [&state, note = std::move(note)](const Job& created) {
                        state.names.Learn(created);
                        return CreatedAnswer(created, note);
                      }));
}

void PinAndMake(ApiState& state, NewJob job, const std::shared_ptr<HttpPeer>& peer,
                HttpRespond respond) {
  const std::string project = job.project;
  const JobSpec spec = job.spec;
  FindPinning(
      state, peer, project, spec,
      [&state, job = std::move(job), peer, respond = std::move(respond)](Pinning pinning) mutable {
        job.image_digest = std::move(pinning.digest);
        Devices& devices = job.spec.resources.devices;
        devices = WithImageNeeds(std::move(devices), pinning.config);
        MakeJob(state, std::move(job), std::move(pinning.note), peer, std::move(respond));
      });
}

bool HasCheckpoints(const JobSpec& spec) {
  const auto parsed = ParseSpec(spec.document);
  return parsed && parsed->run.checkpoint_every.count() > 0;
}

void Create(ApiState& state, Call call) {
  auto job = ParseNewJob(call.request.body);
  if (job && state.options.objects == nullptr && HasCheckpoints(job->spec)) {
    job = Fail(Code::kInvalid,
               "spec.checkpoint: this deployment keeps no checkpoints: give its servers an object "
               "store, with --objects");
  }
  if (job && state.options.may_notify) {
    const auto checked = state.options.may_notify(job->spec.document);
    if (!checked) job = tl::unexpected(checked.error());
  }
  if (!job) return call.respond(ProblemAnswer(job.error()));
  job->project = call.project;
  job->owner = call.caller.name;
  if (job->key.empty()) job->key = ToString(state.random.NewId<Id<struct KeyTag>>());
  CheckWishes(state, *job, call.request.peer,
              [&state, job = *job, peer = call.request.peer,
               respond = std::move(call.respond)](const Result<void>& checked) {
                if (checked) return PinAndMake(state, job, peer, respond);
                AnswerWith<void>(state.log, respond, [] { return HttpResponse{}; })(checked);
              });
}

struct ListRequest {
  JobFilter filter;
  bool counts = false;
};

Result<ListRequest> ReadList(const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"state", "before", "limit", "counts"}));
  ListRequest request;
  JobFilter& filter = request.filter;
  if (const std::string* name = query.Find("state")) {
    filter.state = ParseJobState(*name);
    if (!filter.state) {
      return Fail(Code::kInvalid,
                  "state: must be draft, active, paused, finished, cancelling or cancelled");
    }
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  TIDEMILL_TRY(const std::int64_t before, query.Int("before", {.least = 1, .most = kMost}));
  if (before > 0) filter.before = JobId{before};
  TIDEMILL_TRY(const std::int64_t limit,
               query.Int("limit", {.least = 1, .most = kMostJobs, .absent = kSomeJobs}));
  filter.limit = static_cast<int>(limit);
  TIDEMILL_TRY(request.counts, query.Flag("counts"));
  return request;
}

void ListCounts(ApiState& state, const JobFilter& filter, Call call) {
  state.people.Pass<JobCountsPage>(
      call.request.peer,
      [&state, filter](Reply<JobCountsPage> done) {
        state.server.jobs().ListCounts(filter, std::move(done));
      },
      AnswerWith<JobCountsPage>(state.log, std::move(call.respond), [](const JobCountsPage& page) {
        return JsonAnswer(FormatJobs(page.jobs, page.more));
      }));
}

void List(ApiState& state, Call call) {
  auto request = ReadList(call.request.query);
  if (!request) return call.respond(ProblemAnswer(request.error()));
  request->filter.project = call.project;
  const JobFilter& filter = request->filter;
  if (request->counts) return ListCounts(state, filter, std::move(call));
  state.people.Pass<std::vector<Job>>(
      call.request.peer,
      [&state, filter](Reply<std::vector<Job>> done) {
        state.server.jobs().List(filter, std::move(done));
      },
      AnswerWith<std::vector<Job>>(
          state.log, std::move(call.respond), [limit = filter.limit](const std::vector<Job>& jobs) {
            return JsonAnswer(FormatJobs(jobs, static_cast<int>(jobs.size()) == limit));
          }));
}

void Show(ApiState& state, JobId job, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  state.people.Pass<JobCounts>(
      call.request.peer,
      [&state, job](Reply<JobCounts> done) { state.server.jobs().Show(job, std::move(done)); },
      AnswerWith<JobCounts>(state.log, std::move(call.respond), [](const JobCounts& shown) {
        return JsonAnswer(FormatJobCounts(shown));
      }));
}

Result<PartRequest> ReadPart(Call& call) {
  const auto number = ParseNumber(call.names[1]);
  if (!number || *number > kMostParts) {
    return Fail(Code::kInvalid, "the part's number: parts are counted from 0");
  }
  PartRequest part;
  part.number = static_cast<std::int32_t>(*number);
  if (call.is_text) {
    part.text = std::move(call.request.body);
  } else {
    TIDEMILL_TRY(part.range_items, ParseRange(call.request.body));
  }
  return part;
}

void PutPart(ApiState& state, JobId job, Call call) {
  auto part = ReadPart(call);
  if (!part) return call.respond(ProblemAnswer(part.error()));
  state.people.Pass<Job>(
      call.request.peer,
      [&state, job, part = *std::move(part)](Reply<Job> done) mutable {
        state.server.jobs().AddPart(job, std::move(part), std::move(done));
      },
      AnswerWith<Job>(state.log, std::move(call.respond), JobAnswer));
}

void SealJob(ApiState& state, JobId job, Call call) {
  const auto parts = ParseSeal(call.request.body);
  if (!parts) return call.respond(ProblemAnswer(parts.error()));
  state.people.Pass<Job>(
      call.request.peer,
      [&state, job, parts = *parts](Reply<Job> done) {
        state.server.jobs().Seal(job, parts, std::move(done));
      },
      AnswerWith<Job>(state.log, std::move(call.respond), JobAnswer));
}

void Retry(ApiState& state, JobId job, Call call) {
  auto retry = ParseRetry(call.request.body);
  if (!retry) return call.respond(ProblemAnswer(retry.error()));
  state.people.Pass<Reopened>(
      call.request.peer,
      [&state, job, retry = *std::move(retry)](Reply<Reopened> done) {
        if (retry.group) return state.server.jobs().RetryGroup(job, *retry.group, std::move(done));
        state.server.jobs().Retry(job, {.items = retry.items}, std::move(done));
      },
      AnswerWith<Reopened>(state.log, std::move(call.respond), [](const Reopened& reopened) {
        return JsonAnswer(FormatReopened(reopened.items, reopened.round));
      }));
}

// Those that need nothing but the job.
using Change = void (Jobs::*)(JobId, Reply<Job>);

void Apply(ApiState& state, Change change, JobId job, Call call) {
  if (auto nothing = ParseNothing(call.request.body); !nothing) {
    return call.respond(ProblemAnswer(nothing.error()));
  }
  state.people.Pass<Job>(
      call.request.peer,
      [&state, change, job](Reply<Job> done) {
        (state.server.jobs().*change)(job, std::move(done));
      },
      AnswerWith<Job>(state.log, std::move(call.respond), JobAnswer));
}

}  // namespace

void AddJobRoutes(Router& router, ApiState& state) {
  const Body json{.json_bytes = kJsonBytes};
  const Body nothing{.json_bytes = kJsonBytes, .may_be_absent = true};
  const Body part{.json_bytes = kJsonBytes, .text_bytes = limits::kPartBytes};
  router.Post("/v1/jobs", Needs::kSubmitter, json,
              [&state](Call call) { Create(state, std::move(call)); });
  router.Get("/v1/jobs", Needs::kViewer, [&state](Call call) { List(state, std::move(call)); });
  router.Get("/v1/jobs/{job}", Needs::kViewer, WithJob(state, Show));
  router.Put("/v1/jobs/{job}/parts/{number}", Needs::kSubmitter, part, WithJob(state, PutPart));
  router.Post("/v1/jobs/{job}/seal", Needs::kSubmitter, json, WithJob(state, SealJob));
  router.Post("/v1/jobs/{job}/retry", Needs::kSubmitter, json, WithJob(state, Retry));
  const std::pair<const char*, Change> changes[] = {{"close", &Jobs::Close},
                                                    {"pause", &Jobs::Pause},
                                                    {"resume", &Jobs::Resume},
                                                    {"cancel", &Jobs::Cancel}};
  for (const auto& [verb, change] : changes) {
    router.Post(std::string("/v1/jobs/{job}/") + verb, Needs::kSubmitter, nothing,
                WithJob(state, [change](ApiState& inner, JobId job, Call call) {
                  Apply(inner, change, job, std::move(call));
                }));
  }
}

}  // namespace tidemill
