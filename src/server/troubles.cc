// SPDX-License-Identifier: Apache-2.0
#include "server/troubles.h"

#include <utility>

namespace tidemill {
namespace {

// What nobody has said again for so long is no longer so.
constexpr Duration kWordLife = std::chrono::minutes(10);
constexpr std::size_t kMostJobs = 10'000;

}  // namespace

void Troubles::Hear(SessionId session, const Trouble& trouble) {
  if (!words_.contains(trouble.job) && words_.size() >= kMostJobs) return;
  const TimePoint now = deps_.loop.Now();
  Words& words = words_[trouble.job];
  if (words.sessions.empty()) words.first = now;
  words.sessions.insert(session);
  words.last = now;
  // A fleet finds the same trouble at once; one call at a time is enough.
  if (!std::exchange(words.asking, true))
    Ask(trouble.job, trouble.reason, now - words.first >= insist_after_);
}

void Troubles::Ask(JobId job, const std::string& reason, bool insists) {
  const std::set<SessionId>& sessions = words_[job].sessions;
  jobs_.PauseFor(job, {.reason = reason, .sessions = sessions, .insists = insists},
                 [this, job, reason, heard = sessions.size()](Result<Jobs::Paused> paused) {
                   Answered(job, reason, heard, std::move(paused));
                 });
}

void Troubles::Answered(JobId job, const std::string& reason, std::size_t heard,
                        Result<Jobs::Paused> paused) {
  Words& words = words_[job];
  words.asking = false;
  // If it failed, those that get the job's items next find it again.
  if (!paused) return;
  if (*paused == Jobs::Paused::kYes) {
    deps_.log.Warn("job.paused", {{"job", job.number}, {"reason", reason}});
  }
  if (*paused != Jobs::Paused::kNotEnough) {
    words_.erase(job);
  } else if (words.sessions.size() > heard) {
    // Others have said so meanwhile, and may not say it again.
    words.asking = true;
    Ask(job, reason, false);
  }
}

void Troubles::ForgetOld() {
  const TimePoint before = deps_.loop.Now() - kWordLife;
  std::erase_if(words_, [before](const auto& entry) {
    return !entry.second.asking && entry.second.last < before;
  });
}

}  // namespace tidemill
