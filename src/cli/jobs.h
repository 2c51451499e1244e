// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/context.h"
#include "model/job.h"

namespace tidemill::cli {

struct JobsFlags {
  std::string state;  // empty: any
  bool all = false;   // not only the newest
};
// tidemill jobs
int ListJobs(const Context& context, const JobsFlags& flags);

// "2 cpus and 4 GiB to 16 GiB, 1 nvidia.com/gpu"
std::string NeedsText(const JobSpec& spec);

// tidemill show
int ShowJob(const Context& context, const std::string& job);

}  // namespace tidemill::cli
