// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.h"

// What changes a job that is there. Each may be said twice.
namespace tidemill::cli {

int CancelJob(const Context& context, const std::string& job);
int PauseJob(const Context& context, const std::string& job);
int CloseJob(const Context& context, const std::string& job);
int ResumeJob(const Context& context, const std::string& job);
// Neither: all that have failed.
struct RetryFlags {
  std::string job;
  std::vector<std::int64_t> items = {};
  int group = 0;  // the number of one of `tidemill failures`; 0: none
};
int RetryJob(const Context& context, const RetryFlags& flags);

}  // namespace tidemill::cli
