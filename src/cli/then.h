// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "model/notify.h"

// What a person wants done once a job is over, or stands still: on the person's own machine, with
// the person's own rights. Servers run no commands of people.
namespace tidemill::cli {

// NAME=VALUE of what the command is told.
std::vector<std::string> ThenVariables(JobEvent event, const JobCounts& job);

// Runs the command with `sh -c` and waits for it. Its exit code, or 128 and the signal that ended
// it.
int RunThen(const Console& console, const std::string& command, JobEvent event,
            const JobCounts& job);

// "2 delivered, 1 to be tried (it answers 500)"; empty: there was nothing to tell.
std::string ToldText(const std::vector<Notification>& all);

}  // namespace tidemill::cli
