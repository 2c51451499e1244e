// SPDX-License-Identifier: Apache-2.0
#include "server/http/job_wishes.h"

#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "model/cloud_role.h"
#include "wire/nearest.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

Result<void> CheckQueue(SettingsStore& settings, const std::string& project,
                        const std::string& queue) {
  if (queue.empty() || queue == kDefaultQueue) return {};
  const auto found = settings.FindQueue(project, queue);
  if (found) return {};
  if (found.error().code != Code::kNotFound) return tl::unexpected(found.error());
  TIDEMILL_TRY(const std::vector<Queue> queues,
               settings.ListQueues(project, "", limits::kPageRows));
  std::vector<std::string_view> names = {kDefaultQueue};
  for (const Queue& one : queues) {
    if (one.name != kDefaultQueue) names.push_back(one.name);
  }
  return Fail(Code::kInvalid,
              "spec.queue: there is no queue '" + queue + "'; " + HintFor(queue, names));
}

// As JobNames has it: of this project, and called so.
Result<void> CheckAfter(Store& store, const std::string& project, const std::string& text,
                        std::size_t index) {
  const auto asked = ParsePublicId(text);
  const std::string path = "spec.after[" + std::to_string(index) + "]: ";
  const auto job = store.FindJob(asked->id);
  if (!job && job.error().code != Code::kNotFound) return tl::unexpected(job.error());
  if (!job || job->project != project)
    return Fail(Code::kInvalid, path + "there is no job " + text);
  if (asked->name.empty() || asked->name == job->spec.name) return {};
  return Fail(Code::kInvalid, path + "there is no job " + text + "; number " +
                                  std::to_string(asked->id.number) + " is " + PublicId(*job));
}

Result<void> CheckRole(AccessStore& access, const std::string& project, const std::string& role) {
  const Result<void> may = MayHaveRole(access, project, role);
  if (may || may.error().code != Code::kInvalid) return may;
  return Fail(Code::kInvalid, "spec.role: " + may.error().reason);
}

}  // namespace

Result<void> MayHaveRole(AccessStore& access, const std::string& project, const std::string& role) {
  if (role.empty()) return {};
  TIDEMILL_TRY(const Project found, access.FindProject(project));
  if (MatchesAny(found.cloud_roles, role)) return {};
  return Fail(Code::kInvalid,
              "project " + project + " may not have " + role +
                  "; an admin for all projects can let it, naming all that it is to "
                  "have: tidemill project set " +
                  project + " --cloud-role " + role);
}

void CheckWishes(ApiState& state, const NewJob& job, const std::shared_ptr<HttpPeer>& peer,
                 Reply<void> reply) {
  const std::string& queue = job.spec.wishes.queue;
  auto parsed = ParseSpec(job.spec.document);
  if (!parsed) return reply(tl::unexpected(parsed.error()));
  const bool asks_nothing = (queue.empty() || queue == kDefaultQueue) && parsed->after.empty() &&
                            parsed->run.role.empty();
  if (asks_nothing) return reply({});
  const auto check = [&settings = state.settings, &access = state.server.deps().access,
                      project = job.project, queue, role = parsed->run.role,
                      after = std::move(parsed->after)](Store& store) -> Result<void> {
    TIDEMILL_TRY_VOID(CheckQueue(settings, project, queue));
    TIDEMILL_TRY_VOID(CheckRole(access, project, role));
    for (std::size_t i = 0; i < after.size(); ++i) {
      TIDEMILL_TRY_VOID(CheckAfter(store, project, after[i], i));
    }
    return {};
  };
  state.people.Pass<void>(
      peer,
      [&state, check](Reply<void> done) {
        OnStore(state.server.deps(), check,
                [done = std::move(done)](Result<void> checked) { done(std::move(checked)); });
      },
      std::move(reply));
}

}  // namespace tidemill
