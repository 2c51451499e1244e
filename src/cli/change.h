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
int ResumeJob(const Context& context, const std::string& job);
// These items, or if there are none all that have failed.
int RetryJob(const Context& context, const std::string& job,
             const std::vector<std::int64_t>& items);

}  // namespace tidemill::cli
