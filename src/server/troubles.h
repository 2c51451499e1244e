// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "model/sync.h"
#include "server/deps.h"
#include "server/jobs.h"

namespace tidemill {

// Machines that say they cannot run a job, whatever is tried. One of them may be at fault itself;
// once three agree, or all that the project has, the job is paused with what they said. After that
// it is counted anew: somebody may have mended it. Each server counts what it has heard. Loop
// thread only.
class Troubles {
 public:
  // `insist_after` is ServerLimits::insist_after.
  Troubles(ServerDeps deps, Jobs& jobs, Duration insist_after)
      : deps_(deps), jobs_(jobs), insist_after_(insist_after) {}

  void Hear(SessionId session, const Trouble& trouble);
  void ForgetOld();

 private:
  struct Words {
    std::set<SessionId> sessions;
    TimePoint first;
    TimePoint last;
    bool asking = false;  // the store is being asked whether that is enough
  };
  void Ask(JobId job, const std::string& reason, bool insists);
  void Answered(JobId job, const std::string& reason, std::size_t heard,
                Result<Jobs::Paused> paused);

  const ServerDeps deps_;
  Jobs& jobs_;
  const Duration insist_after_;
  std::map<JobId, Words> words_;
};

}  // namespace tidemill
