// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/context.h"

namespace tidemill::cli {

struct JobsFlags {
  std::string state;  // empty: any
  bool all = false;   // not only the newest
};
// tidemill jobs
int ListJobs(const Context& context, const JobsFlags& flags);

// tidemill show
int ShowJob(const Context& context, const std::string& job);

}  // namespace tidemill::cli
