// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "model/job.h"
#include "server/http/gate.h"
#include "server/jobs.h"

namespace tidemill {

// Says which job a path means. `render-7` must be called render: a name that does not fit its
// number is a slip, and acting on the number would hit somebody else's job. A job's name never
// changes, so those seen are kept. Loop thread only.
class JobNames {
 public:
  explicit JobNames(Jobs& jobs) : jobs_(jobs) {}

  // kNotFound: there is no such job, or it has another name. A bare number is taken as it is.
  void Resolve(const std::string& text, Gate& gate, const std::shared_ptr<HttpPeer>& peer,
               Reply<JobId> reply);
  void Learn(const Job& job);

 private:
  Jobs& jobs_;
  std::map<JobId, std::string> names_;
};

}  // namespace tidemill
