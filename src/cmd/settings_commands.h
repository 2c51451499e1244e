// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/apply.h"
#include "cli/queues.h"
#include "cli/specs.h"
#include "cmd/command_list.h"

namespace tidemill::cli {

// The commands about what operators set.
class SettingsCommands {
 public:
  explicit SettingsCommands(CommandList& list) : list_(list) {
    AddApply();
    list_.Add(&list_.app(), Scope::kProject, "queues", "List queues, their pools and limits.",
              "queues", [](const Context& context) { return ListQueues(context); });
    AddPools();
    AddSpecs();
  }
  SettingsCommands(const SettingsCommands&) = delete;
  SettingsCommands& operator=(const SettingsCommands&) = delete;

 private:
  void AddApply() {
    CLI::App* const apply =
        list_.Add(&list_.app(), Scope::kProject, "apply", "Make pools and queues as a file says.",
                  "apply -f tidemill.yaml --dry-run",
                  [this](const Context& context) { return Apply(context, apply_); });
    CommandList::AddNote(
        apply,
        "Shows what would change, and asks. Exits with 0 if all is as the file says by then; with\n"
        "--dry-run, 1 if something would change.");
    apply->add_option("-f,--file", apply_.file, "A YAML file with pools: and queues:, or -")
        ->required()
        ->option_text("FILE");
    auto* const dry = apply->add_flag("--dry-run", apply_.dry_run, "Change nothing");
    apply->add_flag("--yes", apply_.yes, "Do not ask")->excludes(dry);
    apply->add_flag("--prune", apply_.prune, "Remove what the file does not name");
  }

  void AddPools() {
    CLI::App* const pools =
        list_.Add(&list_.app(), Scope::kProject, "pools",
                  "List pools, their machines, and why they get no more.", "pools",
                  [](const Context& context) { return ListMachinesOfPools(context); });
    CLI::App* const forgive = list_.Add(
        pools, Scope::kProject, "forgive",
        "Order machines again of a pool whose last ones never joined.", "pools forgive spot",
        [this](const Context& context) { return ForgivePool(context, pool_); });
    forgive->add_option("POOL", pool_, "One of tidemill pools")->required()->option_text(" ");
  }

  void AddSpecs() {
    CLI::App* const group = list_.AddGroup("spec", "Specs that the server keeps, with versions.",
                                           "spec put render render.yaml");
    CLI::App* const put =
        list_.Add(group, Scope::kProject, "put", "Keep a spec; another one is the next version.",
                  "spec put render render.yaml",
                  [this](const Context& context) { return PutSpec(context, spec_, file_); });
    put->add_option("NAME", spec_, "As submit names it")->required()->option_text(" ");
    put->add_option("FILE", file_, "A YAML file, or -")->required()->option_text(" ");
    list_.Add(group, Scope::kProject, "list", "List them, each with its newest version.",
              "spec list", [](const Context& context) { return ListSpecs(context); });
    list_
        .Add(group, Scope::kProject, "show", "Print one.", "spec show render@3",
             [this](const Context& context) { return ShowSpec(context, spec_); })
        ->add_option("NAME", spec_, "NAME, or NAME@VERSION for another than the newest")
        ->required()
        ->option_text(" ");
    list_
        .Add(group, Scope::kProject, "rm", "Remove one, with all its versions.", "spec rm render",
             [this](const Context& context) { return RemoveSpec(context, spec_); })
        ->add_option("NAME", spec_, "One of tidemill spec list")
        ->required()
        ->option_text(" ");
  }

  CommandList& list_;
  ApplyFlags apply_;
  std::string pool_;
  std::string spec_;
  std::string file_;
};

}  // namespace tidemill::cli
