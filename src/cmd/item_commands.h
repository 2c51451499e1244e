// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/limits.h"
#include "base/random.h"
#include "cli/replay.h"
#include "cli/run_item.h"
#include "cmd/command_list.h"
#include "net/asio_loop.h"

namespace tidemill::cli {

// One item, on this machine.
class ItemCommands {
 public:
  explicit ItemCommands(CommandList& list) {
    AddRun(list);
    AddReplay(list);
  }
  ItemCommands(const ItemCommands&) = delete;
  ItemCommands& operator=(const ItemCommands&) = delete;

 private:
  static constexpr const char* kExits =
      "Exit codes: the item's own; 124 if its time was over, 137 if its memory was, 125 if it\n"
      "could not be run.";

  static void AddHere(CLI::App* command, HereFlags& flags) {
    command->add_option("--out", flags.out, "Takes its outputs; ./out/JOB-ITEM unless told")
        ->option_text("FOLDER");
    command
        ->add_option("--secret", flags.secrets,
                     "A secret; else the variable of that name; may be repeated")
        ->option_text("NAME=FILE")
        ->allow_extra_args(false);
    command
        ->add_option("--volume", flags.volumes,
                     "A folder here for a volume of the job; may be repeated")
        ->option_text("NAME=FOLDER")
        ->allow_extra_args(false);
    command->add_option("--engine", flags.engine, "What runs it; process means without a container")
        ->option_text("docker|process")
        ->check(CLI::IsMember({"docker", "process"}));
    command
        ->add_option("--device", flags.devices,
                     "A device, beside those of CDI specs; may be repeated")
        ->option_text("KIND=PATH")
        ->allow_extra_args(false);
    command->add_flag("--shell", flags.shell, "A terminal in its place, in its container")
        ->option_text(" ");
    CommandList::AddNote(command, kExits);
  }

  void AddRun(CommandList& list) {
    CLI::App* const run =
        list.AddHere(&list.app(), "run", "Run one item of a job here, as the fleet would.",
                     "run render.yaml --items scenes.txt --item 3",
                     [this](const Console& console, const Surroundings& around) {
                       AsioLoop loop;
                       SystemRandom random;
                       return RunItem(loop, random, console, around, run_);
                     });
    run->add_option("SPEC", run_.spec, "A YAML file, or -")->required()->option_text(" ");
    auto* const items = run->add_option("--items", run_.items, "The list, as for submit");
    items->option_text("FILE|URL");
    run->add_option("--range", run_.range, "So many items: the numbers from 0 on")
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{1}, limits::kItemsPerJob))
        ->excludes(items);
    run->add_option("--item", run_.item, "Its number; 0 unless told")
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{0}, limits::kItemsPerJob - 1));
    run->add_option("--env", run_.env, "Set a variable of the item; may be repeated")
        ->option_text("NAME=VALUE")
        ->allow_extra_args(false);
    run->add_option("--set", run_.params, "Set a param of the spec; may be repeated")
        ->option_text("NAME=VALUE")
        ->allow_extra_args(false);
    AddHere(run, run_.here);
  }

  void AddReplay(CommandList& list) {
    CLI::App* const replay = list.Add(&list.app(), Scope::kProject, "replay",
                                      "Run an item of the fleet once more here, as it was there.",
                                      "replay render-7 4711", [this](const Context& context) {
                                        SystemRandom random;
                                        return Replay(context, random, replay_);
                                      });
    replay->add_option("JOB", replay_.job, "As render-7, or its number")
        ->required()
        ->option_text(" ");
    replay->add_option("ITEM", replay_.item, "Its number")
        ->required()
        ->option_text(" ")
        ->check(CLI::Range(std::int64_t{0}, limits::kItemsPerJob - 1));
    replay->add_option("--memory", replay_.memory, "What it may use; else as its last attempt had")
        ->option_text("SIZE");
    replay
        ->add_option("--code", replay_.code,
                     "The job's code, as a folder here; else the server is asked")
        ->option_text("FOLDER");
    AddHere(replay, replay_.here);
  }

  RunItemFlags run_;
  ReplayFlags replay_;
};

}  // namespace tidemill::cli
