// SPDX-License-Identifier: Apache-2.0
// /v1/projects, /v1/audit
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "server/http/ask_access.h"
#include "server/http/page_asked.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/access_json.h"

namespace tidemill {
namespace {

void PutProject(ApiState& state, Call call) {
  const auto name = ReadNameToMake(call);
  if (!name) return call.respond(ProblemAnswer(name.error()));
  const auto limits = ParseProjectLimits(call.request.body);
  if (!limits) return call.respond(ProblemAnswer(limits.error()));
  AskAccess<Project>(
      state, std::move(call),
      [name = *name, limits = *limits](AccessStore& store) {
        return store.PutProject(name, limits);
      },
      [](const Project& project) { return JsonAnswer(FormatProject(project)); });
}

void SetCloudRoles(ApiState& state, Call call) {
  const auto roles = ParseProjectRoles(call.request.body);
  if (!roles) return call.respond(ProblemAnswer(roles.error()));
  const std::string name = call.names[0];
  AskAccess<Project>(
      state, std::move(call),
      [name, roles = *roles](AccessStore& store) { return store.SetCloudRoles(name, roles); },
      [](const Project& project) { return JsonAnswer(FormatProject(project)); });
}

void ListProjects(ApiState& state, Call call) {
  const auto page = ReadPageAsked(call.request.query);
  if (!page) return call.respond(ProblemAnswer(page.error()));
  AskAccess<std::vector<Project>>(
      state, std::move(call),
      [page = *page](AccessStore& store) { return store.ListProjects(page.after, page.limit); },
      [limit = page->limit](const std::vector<Project>& projects) {
        return JsonAnswer(FormatProjects(projects, static_cast<int>(projects.size()) == limit));
      });
}

Result<AuditFilter> ReadAuditFilter(const Call& call) {
  TIDEMILL_TRY(const Query query, Query::Of(call.request.query, {"before", "limit"}));
  AuditFilter filter;
  filter.project = ScopeOf(call);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  TIDEMILL_TRY(const std::int64_t before, query.Int("before", {.least = 1, .most = kMost}));
  if (before > 0) filter.before = before;
  TIDEMILL_TRY(const std::int64_t limit,
               query.Int("limit", {.least = 1, .most = limits::kPageRows, .absent = kSomeRows}));
  filter.limit = static_cast<int>(limit);
  return filter;
}

void ListAudit(ApiState& state, Call call) {
  const auto filter = ReadAuditFilter(call);
  if (!filter) return call.respond(ProblemAnswer(filter.error()));
  AskAccess<std::vector<AuditRow>>(
      state, std::move(call),
      [filter = *filter](AccessStore& store) { return store.ListAudit(filter); },
      [limit = filter->limit](const std::vector<AuditRow>& rows) {
        return JsonAnswer(FormatAudit(rows, static_cast<int>(rows.size()) == limit));
      });
}

}  // namespace

void AddAccessRoutes(Router& router, ApiState& state) {
  const Body body{.json_bytes = kJsonBytes, .may_be_absent = true};
  router.Put("/v1/projects/{project}", Needs::kServerAdmin, body,
             [&state](Call call) { PutProject(state, std::move(call)); });
  router.Put("/v1/projects/{project}/cloud-roles", Needs::kServerAdmin, {.json_bytes = kJsonBytes},
             [&state](Call call) { SetCloudRoles(state, std::move(call)); });
  router.Get("/v1/projects", Needs::kServerAdmin,
             [&state](Call call) { ListProjects(state, std::move(call)); });
  router.Get("/v1/audit", Needs::kAdmin,
             [&state](Call call) { ListAudit(state, std::move(call)); });
}

}  // namespace tidemill
