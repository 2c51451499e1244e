// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/console.h"
#include "cli/context.h"
#include "cli/target.h"

// The commands of `tidemill`, as its flags are read into them.
namespace tidemill::cli {

// What every command has.
struct CommonFlags {
  TargetFlags target;
  bool json = false;
  bool quiet = false;
};

struct Command {
  CLI::App* app = nullptr;
  // One of the two: with a server, or without. If there are both, needs_server says which.
  std::function<int(const Context&)> run = {};
  std::function<int(const Console&, const Surroundings&)> run_here = {};
  std::function<bool()> needs_server = {};
  // What is asked for in one of several ways and was in none; empty: nothing.
  std::function<std::string()> missing = {};
};

// Whether a command is about things of one project.
enum class Scope { kProject, kServer };

class CommandList {
 public:
  CommandList(CLI::App& app, CommonFlags& flags) : app_(app), flags_(flags) {}

  // Words that only lead to others: `tidemill token`.
  CLI::App* AddGroup(const std::string& name, const std::string& about,
                     const std::string& example) {
    CLI::App* const group = app_.add_subcommand(name, about);
    group->require_subcommand(1);
    AddExample(group, example);
    return group;
  }

  // A command that asks a server. `parent` may be a group.
  CLI::App* Add(CLI::App* parent, Scope scope, const std::string& name, const std::string& about,
                const std::string& example, std::function<int(const Context&)> run) {
    CLI::App* const command = parent->add_subcommand(name, about);
    auto* const server =
        command->add_option("--server", flags_.target.server,
                            "Else TIDEMILL_SERVER, a context, or a running tidemill up");
    server->option_text("URL");
    command
        ->add_option("--context", flags_.target.context,
                     "Else TIDEMILL_CONTEXT, else the current one")
        ->option_text("NAME")
        ->excludes(server);
    command
        ->add_option("--ca", flags_.target.ca,
                     "Who vouches for an https server; else TIDEMILL_CA, else the system's")
        ->type_name("FILE");
    if (scope == Scope::kProject) {
      command
          ->add_option("--project", flags_.target.project,
                       "Else TIDEMILL_PROJECT, else the context's or the token's")
          ->option_text("P");
    }
    AddCommon(command, example);
    commands_.push_back({.app = command, .run = std::move(run)});
    return command;
  }

  // A command that does not ask the server that is meant, or none at all.
  CLI::App* AddHere(CLI::App* parent, const std::string& name, const std::string& about,
                    const std::string& example,
                    std::function<int(const Console&, const Surroundings&)> run) {
    CLI::App* const command = parent->add_subcommand(name, about);
    AddCommon(command, example);
    commands_.push_back({.app = command, .run_here = std::move(run)});
    return command;
  }

  // The command that was added last, by Add, does without a server unless `needs_server` says so.
  void SetHere(std::function<bool()> needs_server,
               std::function<int(const Console&, const Surroundings&)> run) {
    commands_.back().needs_server = std::move(needs_server);
    commands_.back().run_here = std::move(run);
  }

  // Of the command that was added last.
  void SetMissing(std::function<std::string()> missing) {
    commands_.back().missing = std::move(missing);
  }

  // What one line cannot say.
  static void AddNote(CLI::App* command, const std::string& note) {
    command->footer(note + "\n\n" + command->get_footer());
  }

  CLI::App& app() { return app_; }
  // A command may have others below it, which are added after it.
  const Command* Chosen() const {
    const auto found = std::find_if(commands_.rbegin(), commands_.rend(),
                                    [](const Command& one) { return one.app->parsed(); });
    return found == commands_.rend() ? nullptr : &*found;
  }

 private:
  static void AddExample(CLI::App* command, const std::string& example) {
    command->footer("Example:\n  tidemill " + example + "\n");
  }

  void AddCommon(CLI::App* command, const std::string& example) {
    command->add_flag("--json", flags_.json, "The same facts, for programs");
    command->add_flag("-q,--quiet", flags_.quiet, "Only what a script needs");
    AddExample(command, example);
  }

  CLI::App& app_;
  CommonFlags& flags_;
  std::vector<Command> commands_;
};

}  // namespace tidemill::cli
