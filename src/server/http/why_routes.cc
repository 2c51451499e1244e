// SPDX-License-Identifier: Apache-2.0
// Why nothing, or not more, runs.
#include <memory>
#include <string>
#include <utility>

#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/ask_outlook.h"
#include "server/http/plan_answers.h"
#include "server/http/query.h"
#include "server/http/with_job.h"

namespace tidemill {
namespace {

void WhyOfJob(ApiState& state, JobId job, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  state.people.Pass<JobWhy>(
      call.request.peer,
      [&state, job, project = call.project](Reply<JobWhy> done) {
        AskOutlook(state, project, [&state, job, done](Result<DecidedPtr> decided) {
          if (!decided) return done(tl::unexpected(decided.error()));
          state.server.jobs().Show(job, [decided = *decided, done](Result<JobCounts> shown) {
            if (!shown) return done(tl::unexpected(shown.error()));
            done(JobWhyOf(decided.get(), shown->job));
          });
        });
      },
      AnswerWith<JobWhy>(state.log, std::move(call.respond),
                         [](const JobWhy& why) { return JsonAnswer(FormatJobWhy(why)); }));
}

void WhyOfMachine(ApiState& state, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  state.people.Pass<MachineWhy>(
      call.request.peer,
      [&state, asked = call.names[0], project = call.project](Reply<MachineWhy> done) {
        AskOutlook(state, project, [asked, done](Result<DecidedPtr> decided) {
          if (!decided) return done(tl::unexpected(decided.error()));
          if (*decided == nullptr)
            return done(Fail(Code::kNotFound, "there is no machine " + asked));
          done(MachineWhyOf(**decided, asked));
        });
      },
      AnswerWith<MachineWhy>(state.log, std::move(call.respond), [](const MachineWhy& why) {
        return JsonAnswer(FormatMachineWhy(why));
      }));
}

}  // namespace

void AddWhyRoutes(Router& router, ApiState& state) {
  router.Get("/v1/jobs/{job}/why", Needs::kViewer, WithJob(state, WhyOfJob));
  router.Get("/v1/machines/{machine}/why", Needs::kViewer,
             [&state](Call call) { WhyOfMachine(state, std::move(call)); });
}

}  // namespace tidemill
