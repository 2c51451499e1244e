// SPDX-License-Identifier: Apache-2.0
#include "server/outlook.h"

#include <utility>

namespace tidemill {
namespace {

// The leader decides anew about as often.
constexpr Duration kKept = std::chrono::seconds(1);

}  // namespace

void Outlook::Ask(const std::string& project, Reply<std::shared_ptr<const Decided>> reply) {
  if (deps_.plans == nullptr) {
    return reply(Fail(Code::kUnavailable, "this server does not plan: it cannot say"));
  }
  auto answer = [this, project, reply = std::move(reply)](const Result<void>& looked) {
    if (!looked) return reply(tl::unexpected(looked.error()));
    const auto found = last_.find(project);
    if (found != last_.end()) return reply(found->second);
    reply(Fail(Code::kNotFound, "nothing is going on in project " + project));
  };
  const bool is_fresh = taken_ && deps_.loop.Now() - *taken_ < kKept;
  if (is_fresh) return answer({});
  waiting_.push_back(std::move(answer));
  if (waiting_.size() > 1) return;
  // Deciding takes up to 50 ms of a large project: it stays on the worker, too.
  OnPlans(
      deps_,
      [](PlanStore& plans) -> Result<Look> {
        TIDEMILL_TRY(Snapshots read, plans.ReadSnapshots());
        Look look;
        for (ProjectSnapshot& one : read.projects) {
          look[one.project] = std::make_shared<const Decided>(std::move(one.snapshot), read.now);
        }
        return look;
      },
      [this](Result<Look> look) { Taken(std::move(look)); });
}

void Outlook::Taken(Result<Look> look) {
  Result<void> looked;
  if (look) {
    last_ = *std::move(look);
    taken_ = deps_.loop.Now();
  } else {
    looked = tl::unexpected(look.error());
  }
  // Whoever is answered may ask again at once.
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& answer : waiting) answer(looked);
}

}  // namespace tidemill
