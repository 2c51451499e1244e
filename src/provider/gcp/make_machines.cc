// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/make_machines.h"

#include <algorithm>
#include <utility>

#include "provider/gcp/requests.h"

namespace tidemill {

MakeMachines::MakeMachines(ComputeApi& api, GroupWatch& watch, std::vector<std::string> names,
                           Done done)
    : api_(api),
      watch_(watch),
      machines_(std::move(names)),
      done_(std::move(done)),
      until_(api.Now() + api.options().limit) {}

void MakeMachines::Start() {
  watch_.Begin();
  Look();
}

void MakeMachines::Look() {
  watch_.LookAnew([self = shared_from_this()](const Result<void>& looked) {
    if (!looked) return self->Finish(tl::unexpected<Error>(looked.error()));
    self->Decide();
  });
}

void MakeMachines::Decide() {
  MakePlan plan = PlanMake(machines_, watch_.names(), watch_.view(), watch_.memory(), asked_);
  const bool is_late = api_.Now() >= until_;
  if (plan.is_settled || is_late) return Settle(std::move(plan));
  if (plan.create.empty()) return Wait();
  if (plan.create.size() > kGcpBatch) plan.create.resize(kGcpBatch);
  Create(std::move(plan.create));
}

void MakeMachines::Create(std::vector<std::string> instances) {
  asked_.insert(instances.begin(), instances.end());
  ComputeAsk ask{.project = watch_.pool().project,
                 .method = "POST",
                 .path = GroupPath(watch_.pool(), watch_.names()) + "/createInstances",
                 .body = CreateInstancesBody(instances)};
  api_.Run(std::move(ask), until_,
           [self = shared_from_this(), instances = std::move(instances)](const Result<void>& made) {
             self->OnCreated(instances, made);
           });
}

void MakeMachines::OnCreated(const std::vector<std::string>& instances, const Result<void>& made) {
  if (made || made.error().code == Code::kUnknown) return Wait();
  const Code code = made.error().code;
  if (code == Code::kConflict) {
    // Somebody else made some of them meanwhile: a look shows which.
    for (const std::string& name : instances) asked_.erase(name);
    return Wait();
  }
  if (code != Code::kExhausted) return Finish(tl::unexpected<Error>(made.error()));
  Refused refused;
  for (const std::string& machine : machines_) {
    const auto name = watch_.names().InstanceOf(machine);
    const bool is_named =
        name && std::find(instances.begin(), instances.end(), *name) != instances.end();
    const bool is_said =
        std::find(refused.names.begin(), refused.names.end(), machine) != refused.names.end();
    if (is_named && !is_said) refused.names.push_back(machine);
  }
  refused.words = made.error().reason;
  Finish(std::move(refused));
}

void MakeMachines::Wait() {
  api_.After(api_.options().poll, [self = shared_from_this()] { self->Look(); });
}

void MakeMachines::Settle(MakePlan plan) {
  Refused refused{std::move(plan.refused), std::move(plan.words), {}};
  if (plan.is_quota) {
    refused.quota = static_cast<std::int64_t>(
        std::count_if(watch_.memory().machines.begin(), watch_.memory().machines.end(),
                      [](const auto& known) { return !known.second.ended; }));
  }
  if (plan.failed.empty()) return Finish(std::move(refused));
  watch_.TakeOut(
      std::move(plan.failed), until_,
      [self = shared_from_this(), refused = std::move(refused)](const Result<void>& taken) {
        // It may still be under way; the group's next failure is refused again.
        if (!taken && taken.error().code != Code::kUnknown) {
          return self->Finish(tl::unexpected<Error>(taken.error()));
        }
        self->Finish(refused);
      });
}

void MakeMachines::Finish(Result<Refused> result) {
  watch_.End();
  done_(std::move(result));
}

}  // namespace tidemill
