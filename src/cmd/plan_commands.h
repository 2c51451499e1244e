// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/why.h"
#include "cmd/command_list.h"

namespace tidemill::cli {

// Commands about what is decided, and why.
class PlanCommands {
 public:
  explicit PlanCommands(CommandList& list) {
    CLI::App* const why = list.Add(
        &list.app(), Scope::kProject, "why",
        "Say why nothing, or not more, of a job runs; or why a machine is idle.", "why render-7",
        [this](const Context& context) { return ShowWhy(context, what_); });
    why->add_option("JOB|MACHINE", what_, "As tidemill jobs and tidemill machines show them")
        ->required()
        ->option_text(" ");
  }
  PlanCommands(const PlanCommands&) = delete;
  PlanCommands& operator=(const PlanCommands&) = delete;

 private:
  std::string what_;
};

}  // namespace tidemill::cli
