// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "model/job.h"
#include "server/http/gate.h"
#include "server/jobs.h"

namespace tidemill {

// Says which job of a project a path means: nothing else makes a number out of what a person wrote,
// so a job of another project is not there. `render-7` must be called render: a name that does not
// fit its number is a slip, and acting on the number would hit another job. A job's name and
// project never change, so those seen are kept. Loop thread only.
class JobNames {
 public:
  explicit JobNames(Jobs& jobs) : jobs_(jobs) {}

  // kNotFound: the project has no such job, or it has another name. A bare number will do.
  void Resolve(const std::string& project, const std::string& text, Gate& gate,
               const std::shared_ptr<HttpPeer>& peer, Reply<JobId> reply);
  void Learn(const Job& job);

 private:
  Jobs& jobs_;
  struct Known {
    std::string name;
    std::string project;
  };
  std::map<JobId, Known> known_;
};

}  // namespace tidemill
