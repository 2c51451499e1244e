// SPDX-License-Identifier: Apache-2.0
// What jobs and projects cost.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/http/answer.h"
#include "server/http/api.h"
#include "server/http/ask_outlook.h"
#include "server/http/plan_answers.h"
#include "server/http/query.h"
#include "server/http/with_job.h"

namespace tidemill {
namespace {

using MoneyRows = std::vector<JobMoney>;

// The newest jobs of a project, of which the dearest are found; they are listed in steps, because
// each comes with its spec.
constexpr int kJobsAStep = 200;
constexpr int kSteps = 5;

void CostOfJob(ApiState& state, JobId job, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  // The forecast, then the counts, then the money: what is spent is never less than what the counts
  // were paid with.
  state.people.Pass<JobCost>(
      call.request.peer,
      [&state, job, project = call.project](Reply<JobCost> done) {
        AskOutlook(state, project, [&state, job, done](Result<DecidedPtr> decided) {
          if (!decided) return done(tl::unexpected(decided.error()));
          state.server.jobs().Show(
              job, [&state, job, decided = *decided, done](Result<JobCounts> shown) {
                if (!shown) return done(tl::unexpected(shown.error()));
                OnPlans(
                    state.server.deps(), [job](PlanStore& plans) { return plans.ReadMoney({job}); },
                    [decided, shown = *std::move(shown), done](Result<MoneyRows> money) {
                      if (!money) return done(tl::unexpected(money.error()));
                      done(JobCostOf(decided.get(), shown, *money));
                    });
              });
        });
      },
      AnswerWith<JobCost>(state.log, std::move(call.respond),
                          [](const JobCost& cost) { return JsonAnswer(FormatJobCost(cost)); }));
}

Result<std::vector<Job>> NewestJobs(Store& store, const std::string& project) {
  std::vector<Job> newest;
  JobFilter filter{.project = project, .state = {}, .before = {}, .limit = kJobsAStep};
  for (int step = 0; step < kSteps; ++step) {
    TIDEMILL_TRY(std::vector<Job> jobs, store.ListJobs(filter));
    const bool more = static_cast<int>(jobs.size()) == kJobsAStep;
    for (Job& job : jobs) {
      job.spec.document.clear();
      newest.push_back(std::move(job));
    }
    if (!more) break;
    filter.before = newest.back().id;
  }
  return newest;
}

Result<ProjectCosts> ReadCosts(Store& store, PlanStore* plans, const std::string& project) {
  if (plans == nullptr) {
    return Fail(Code::kUnavailable, "this server does not plan: it has no accounts");
  }
  TIDEMILL_TRY(const std::vector<Job> jobs, NewestJobs(store, project));
  std::vector<JobId> ids;
  for (const Job& job : jobs) ids.push_back(job.id);
  TIDEMILL_TRY(const MoneyRows money, plans->ReadMoney(ids));
  TIDEMILL_TRY(const std::vector<Entry> overhead, plans->ReadOverhead(project));
  return CostsOf(jobs, money, overhead);
}

void CostsOfProject(ApiState& state, Call call) {
  if (auto query = Query::Of(call.request.query, {}); !query) {
    return call.respond(ProblemAnswer(query.error()));
  }
  state.people.Pass<ProjectCosts>(
      call.request.peer,
      [&state, project = call.project](Reply<ProjectCosts> done) {
        OnStore(
            state.server.deps(),
            [plans = state.server.deps().plans, project](Store& store) {
              return ReadCosts(store, plans, project);
            },
            [done](Result<ProjectCosts> costs) { done(std::move(costs)); });
      },
      AnswerWith<ProjectCosts>(state.log, std::move(call.respond), [](const ProjectCosts& costs) {
        return JsonAnswer(FormatCosts(costs));
      }));
}

}  // namespace

void AddCostRoutes(Router& router, ApiState& state) {
  router.Get("/v1/jobs/{job}/cost", Needs::kViewer, WithJob(state, CostOfJob));
  router.Get("/v1/costs", Needs::kViewer,
             [&state](Call call) { CostsOfProject(state, std::move(call)); });
}

}  // namespace tidemill
