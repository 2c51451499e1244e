// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "cli/env.h"
#include "cli/env_fleet.h"
#include "cli/env_work.h"
#include "cmd/command_list.h"

namespace tidemill::cli {

// An environment becomes an image.
class EnvCommands {
 public:
  explicit EnvCommands(CommandList& list) {
    CLI::App* const group = list.AddGroup(
        "env", "Make an image of a folder's environment, and work in it.", "env build");
    group_ = group;
    AddInit(list, group);
    AddBuild(list, group);
    AddPush(list, group);
    AddRun(list, group);
    AddShell(list, group);
    AddJupyter(list, group);
    AddTest(list, group);
    // After `--`, CLI11 gives what is left to the group. Not before: commands would inherit it.
    group->prefix_command();
  }
  EnvCommands(const EnvCommands&) = delete;
  EnvCommands& operator=(const EnvCommands&) = delete;

 private:
  void AddFolder(CLI::App* command) {
    command->add_option("FOLDER", flags_.folder, "Where the code is; else this one")
        ->option_text(" ");
  }

  void AddNetwork(CLI::App* command) {
    command->add_option("--network", flags_.network, "As docker build takes it, for pip's sake")
        ->option_text("NAME");
    command->add_flag("--upgrade", flags_.upgrade, "The newest of all, and not what is locked")
        ->option_text(" ");
  }

  void AddInit(CommandList& list, CLI::App* group) {
    CLI::App* const init = list.AddHere(
        group, "init", "Write tidemill-env.yaml for a folder.", "env init --gpu",
        [this](const Console& console, const Surroundings&) { return EnvInit(console, flags_); });
    AddFolder(init);
    init->add_option("--name", flags_.name, "What the image is called; else as the folder")
        ->option_text("NAME");
    init->add_option("--from", flags_.from,
                     "environment.yml, requirements.txt, pyproject.toml, Pipfile, Dockerfile")
        ->option_text("FILE");
    init->add_flag("--gpu", flags_.gpu, "For machines with GPUs")->option_text(" ");
  }

  void AddBuild(CommandList& list, CLI::App* group) {
    CLI::App* const build =
        list.AddHere(group, "build", "Build the image of a folder's environment and code.",
                     "env build", [this](const Console& console, const Surroundings& around) {
                       return EnvBuild(console, around, flags_);
                     });
    AddFolder(build);
    AddNetwork(build);
  }

  void AddPush(CommandList& list, CLI::App* group) {
    CLI::App* const push = list.AddHere(group, "push", "Build it, and send it to a registry.",
                                        "env push --to registry.example:5000/films",
                                        [this](const Console& console, const Surroundings& around) {
                                          return EnvPush(console, around, flags_);
                                        });
    AddFolder(push);
    AddNetwork(push);
    push->add_option("--to", flags_.to, "The image's name there, without a tag")
        ->option_text("NAME");
  }

  // What all have that work inside an image.
  void AddInside(CLI::App* command) {
    AddNetwork(command);
    command
        ->add_option("--device", flags_.devices,
                     "nvidia.com/gpu, some of a kind as KIND=0,1, or a path; may be repeated")
        ->allow_extra_args(false)
        ->option_text("KIND");
  }

  void AddVariables(CLI::App* command) {
    command
        ->add_option("--env", flags_.variables,
                     "A variable inside: NAME=VALUE, or NAME as it is here; may be repeated")
        ->allow_extra_args(false)
        ->option_text("NAME=VALUE");
  }

  // What may be here, or on a machine of the fleet.
  using OnFleet = int (*)(const Context&, Random&, const EnvFlags&);
  using Here = std::function<int(const Console&, const Surroundings&)>;
  CLI::App* AddEither(CommandList& list, CLI::App* group, const std::string& name,
                      const std::string& about, const std::string& example, OnFleet on_fleet,
                      Here here) {
    CLI::App* const command = list.Add(group, Scope::kProject, name, about, example,
                                       [this, name, on_fleet](const Context& context) {
                                         if (name == "run") flags_.command = CommandWords();
                                         SystemRandom random;
                                         return on_fleet(context, random, flags_);
                                       });
    list.SetHere([this] { return !flags_.pool.empty(); }, std::move(here));
    auto* const pool =
        command->add_option("--pool", flags_.pool, "On a machine of this pool, through the server");
    pool->option_text("POOL");
    const auto with_pool = [pool](CLI::Option* option, const std::string& text) {
      option->option_text(text)->needs(pool);
    };
    with_pool(command->add_option("--to", flags_.to,
                                  "Its image's name in a registry, without a tag; as env push"),
              "NAME");
    with_pool(command->add_option("--queue", flags_.queue, "Where it waits for the machine"), "Q");
    with_pool(command->add_option("--cpus", flags_.cpus, "Processors there; 1 unless told")
                  ->check(CLI::PositiveNumber),
              "N");
    with_pool(command->add_option("--memory", flags_.memory, "Memory there, as 16GiB"), "SIZE");
    return command;
  }

  void AddIdle(CLI::App* command) {
    command
        ->add_option("--idle", flags_.idle_minutes,
                     "With --pool: minutes without use after which it ends; 120 unless told")
        ->check(CLI::Range(1, 720))
        ->option_text("MIN");
  }

  void AddRun(CommandList& list, CLI::App* group) {
    run_ = AddEither(list, group, "run", "Run a command in the image, in this folder.",
                     "env run python -m films.train --epochs 3\n"
                     "  tidemill env run --pool spot python -m films.train --epochs 3",
                     EnvRunOnFleet, [this](const Console& console, const Surroundings& around) {
                       flags_.command = CommandWords();
                       return EnvRun(console, around, flags_);
                     });
    run_->prefix_command();
    list.SetMissing([this]() -> std::string {
      const std::vector<std::string> command = CommandWords();
      if (command.empty()) return "which command?  tidemill env run python main.py";
      const std::string& first = command.front();
      return first.starts_with('-') ? "tidemill env run has no flag '" + first + "'" : "";
    });
    run_->add_option("--folder", flags_.folder, "Where the code is; else this one")
        ->option_text("DIR");
    AddInside(run_);
    AddVariables(run_);
    CommandList::AddNote(run_,
                         "Flags come before the command. Its exit code is ours; 125: it did "
                         "not begin.");
  }

  // The first word that is no flag of ours begins it, and all that follows is its own.
  std::vector<std::string> CommandWords() const {
    std::vector<std::string> words = run_->remaining();
    for (const std::string& word : group_->remaining()) words.push_back(word);
    return words;
  }

  void AddShell(CommandList& list, CLI::App* group) {
    CLI::App* const shell =
        AddEither(list, group, "shell", "Open a shell in the image, in this folder.",
                  "env shell --device nvidia.com/gpu\n  tidemill env shell --pool spot --cpus 8",
                  EnvShellOnFleet, [this](const Console& console, const Surroundings& around) {
                    return EnvShell(console, around, flags_);
                  });
    AddFolder(shell);
    AddIdle(shell);
    AddInside(shell);
    AddVariables(shell);
  }

  void AddJupyter(CommandList& list, CLI::App* group) {
    CLI::App* const jupyter =
        AddEither(list, group, "jupyter", "Start Jupyter in the image, for this machine alone.",
                  "env jupyter\n  tidemill env jupyter --pool gpus --device nvidia.com/gpu",
                  EnvJupyterOnFleet, [this](const Console& console, const Surroundings& around) {
                    SystemRandom random;
                    return EnvJupyter(console, around, random, flags_);
                  });
    AddFolder(jupyter);
    AddIdle(jupyter);
    jupyter->add_option("--port", flags_.port, "This one; else 8888 or the next that is free")
        ->check(CLI::Range(1, 65535))
        ->option_text("P");
    AddInside(jupyter);
    AddVariables(jupyter);
  }

  void AddTest(CommandList& list, CLI::App* group) {
    CLI::App* const test =
        list.AddHere(group, "test", "Say which devices python's frameworks see in the image.",
                     "env test --device nvidia.com/gpu",
                     [this](const Console& console, const Surroundings& around) {
                       return EnvTest(console, around, flags_);
                     });
    AddFolder(test);
    AddInside(test);
    CommandList::AddNote(test, "Exit 7: a device that was asked for is not seen.");
  }

  EnvFlags flags_;
  CLI::App* group_ = nullptr;
  CLI::App* run_ = nullptr;
};

}  // namespace tidemill::cli
