// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/env.h"
#include "cmd/command_list.h"

namespace tidemill::cli {

// An environment becomes an image.
class EnvCommands {
 public:
  explicit EnvCommands(CommandList& list) {
    CLI::App* const group =
        list.AddGroup("env", "Make an image of a folder's environment.", "env build");
    AddInit(list, group);
    AddBuild(list, group);
    AddPush(list, group);
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
                     "environment.yml, requirements.txt, pyproject.toml, Pipfile or Dockerfile")
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

  EnvFlags flags_;
};

}  // namespace tidemill::cli
