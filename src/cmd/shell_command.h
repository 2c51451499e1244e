// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "cli/shell.h"
#include "cmd/command_list.h"

namespace tidemill::cli {

// A terminal in the container of an item that runs.
class ShellCommandLine {
 public:
  explicit ShellCommandLine(CommandList& list) {
    CLI::App* const shell =
        list.Add(&list.app(), Scope::kProject, "shell",
                 "Open a terminal in the container of an item that runs.",
                 "shell render-7 --item 4711\n"
                 "  tidemill shell render-7 --item 4711 -- nvidia-smi",
                 [this](const Context& context) { return OpenItemShell(context, flags_); });
    shell->add_option("JOB", flags_.job, "As render-7, or its number")
        ->required()
        ->option_text(" ");
    shell->add_option("--item", flags_.item, "Its number")
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{0}, limits::kItemsPerJob - 1));
    auto* const terminal = shell->add_flag("--terminal", flags_.terminal,
                                           "A terminal there, though there is none here");
    shell->add_flag("--no-terminal", flags_.no_terminal, "Plain input and output, as in a pipe")
        ->excludes(terminal);
    CommandList::AddNote(
        shell,
        "What stands after -- is run in place of a shell. In a terminal, Enter ~ . "
        "leaves.\nIts exit code is ours; 127 or 126: it could not be started.");
    list.SetMissing([this]() -> std::string {
      if (flags_.item) return "";
      return "which item?  --item N; those that run:  tidemill items " + flags_.job +
             " --state running";
    });
  }
  ShellCommandLine(const ShellCommandLine&) = delete;
  ShellCommandLine& operator=(const ShellCommandLine&) = delete;

  // Takes what stands after "--", which no flag of ours is among, and says how many words are left.
  int TakeCommand(int argc, char** argv) {
    if (argc < 2 || std::string_view(argv[1]) != "shell") return argc;
    for (int i = 2; i < argc; ++i) {
      if (std::string_view(argv[i]) != "--") continue;
      flags_.command.assign(argv + i + 1, argv + argc);
      return i;
    }
    return argc;
  }

 private:
  ShellFlags flags_;
};

}  // namespace tidemill::cli
