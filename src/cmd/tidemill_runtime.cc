// SPDX-License-Identifier: Apache-2.0
// tidemill-runtime: an engine calls it as it would call runc; people call its own commands.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cdi/read_folders.h"
#include "runtime/be_runtime.h"
#include "runtime/commands.h"
#include "runtime/config.h"
#include "runtime/install.h"

namespace tidemill {
namespace {

enum Exit : int { kDone = 0, kRefused = 1, kWrongUse = 2 };

// What no runtime has. All else, also --version, is the runtime's below: engines ask for it.
constexpr std::array<std::string_view, 6> kOwnWords = {"cdi",       "hook",   "install",
                                                       "uninstall", "--help", "-h"};

constexpr char kAbout[] =
    "Puts devices into containers, as their CDI specs say, and hands over to runc or crun.\n\n"
    "An engine calls it in place of runc, with runc's commands and flags. A container asks for\n"
    "devices with annotations cdi.k8s.io/..., or with a variable TIDEMILL_CDI, which it does not\n"
    "see itself. So whoever may set variables of containers may have any device of the machine;\n"
    "'from-environment: false' in the config file leaves it to the annotations.";

std::string VariableOr(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

std::string OwnPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string ConfigPath() { return VariableOr("TIDEMILL_RUNTIME_CONFIG", kRuntimeConfigPath); }

int Refuse(const std::string& reason) {
  std::fprintf(stderr, "tidemill-runtime: %s\n", reason.c_str());
  return kRefused;
}

// The flags of all commands, of which one is called.
struct RuntimeFlags {
  std::vector<std::string> folders = {};
  bool json = false;
  GenerateOptions generate = {};
  std::vector<std::string> files = {};
  std::vector<std::string> hook_folders = {};
  std::string ldconfig = {};
  std::vector<std::string> links = {};
  Installation installation = {};
  bool docker = false;
  bool containerd = false;
  bool crio = false;
  std::function<int()> run = {};
};

void Example(CLI::App* app, const std::string& text) { app->footer("Example:\n  " + text + "\n"); }

void AddCdi(CLI::App& app, RuntimeFlags& flags) {
  CLI::App* const cdi = app.add_subcommand("cdi", "The specs of this machine's devices");
  cdi->require_subcommand(1);
  Example(cdi, "tidemill-runtime cdi list");
  CLI::App* const list = cdi->add_subcommand("list", "Names the devices that specs describe");
  list->add_flag("--json", flags.json, "For programs");
  list->add_option("--folder", flags.folders, "Of specs; else the config file's, else CDI's own")
      ->type_name("DIR");
  Example(list, "tidemill-runtime cdi list --json");
  list->callback([&flags] {
    flags.run = [&flags] {
      const auto config = ReadRuntimeConfig(ConfigPath());
      if (!config) return Refuse(config.error().reason);
      if (flags.folders.empty()) flags.folders = config->cdi_folders;
      return ListCdi(flags.folders.empty() ? kCdiFolders : flags.folders, flags.json);
    };
  });
  CLI::App* const validate = cdi->add_subcommand("validate", "Says what is wrong with spec files");
  validate->add_option("FILE", flags.files, "Specs, as YAML or JSON")->required();
  Example(validate, "tidemill-runtime cdi validate /etc/cdi/*.yaml");
  validate->callback([&flags] { flags.run = [&flags] { return ValidateCdi(flags.files); }; });
  CLI::App* const generate = cdi->add_subcommand(
      "generate", "Writes specs for the devices of NVIDIA and AWS Neuron, or for some nodes");
  generate->add_option("--device", flags.generate.devices, "A node; may be given several times")
      ->type_name("PATH");
  generate->add_option("--kind", flags.generate.kind, "Of these nodes, as vendor.com/class")
      ->type_name("KIND");
  generate
      ->add_option("--output", flags.generate.output,
                   "A file, or a folder for a file a kind; else they are printed")
      ->type_name("FILE");
  generate
      ->add_option("--driver-root", flags.generate.driver_root,
                   "Where drivers are; else the config file's")
      ->type_name("DIR");
  Example(generate,
          "tidemill-runtime cdi generate --output /etc/cdi\n"
          "  tidemill-runtime cdi generate --device /dev/fpga0 --kind example.com/fpga \\\n"
          "      --output /etc/cdi/fpga.json");
  generate->callback([&flags, generate] {
    flags.run = [&flags, generate] {
      const auto config = ReadRuntimeConfig(ConfigPath());
      if (!config) return Refuse(config.error().reason);
      if (generate->count("--driver-root") == 0) flags.generate.driver_root = config->driver_root;
      flags.generate.program = OwnPath();
      return GenerateCdi(flags.generate);
    };
  });
}

void AddHook(CLI::App& app, RuntimeFlags& flags) {
  CLI::App* const hook = app.add_subcommand(
      "hook", "What specs let a runtime do in a container; its state comes on standard input");
  hook->require_subcommand(1);
  Example(hook, "tidemill-runtime hook update-ldcache --folder /usr/lib/x < state.json");
  CLI::App* const cache = hook->add_subcommand(
      "update-ldcache", "Lets the container's loader find the libraries of some folders");
  cache->add_option("--folder", flags.hook_folders, "As the container sees it")
      ->type_name("DIR")
      ->required();
  cache->add_option("--ldconfig", flags.ldconfig, "The machine's own, a static program")
      ->type_name("FILE");
  Example(cache, "tidemill-runtime hook update-ldcache --folder /usr/lib/x < state.json");
  cache->callback([&flags] {
    flags.run = [&flags] { return HookUpdateLdCache(flags.hook_folders, flags.ldconfig); };
  });
  CLI::App* const links = hook->add_subcommand("create-symlinks", "Makes links in the container");
  links->add_option("--link", flags.links, "A link at PATH, as the container sees it")
      ->type_name("TARGET::PATH")
      ->required();
  Example(links,
          "tidemill-runtime hook create-symlinks \\\n"
          "      --link libcuda.so.1::/usr/lib/x/libcuda.so < state.json");
  links->callback([&flags] { flags.run = [&flags] { return HookCreateSymlinks(flags.links); }; });
}

int RunInstaller(RuntimeFlags& flags, Result<std::string> (*installer)(Installation)) {
  if (flags.docker + flags.containerd + flags.crio != 1) {
    std::fprintf(stderr,
                 "tidemill-runtime: say one of --docker, --containerd and --crio; see --help\n");
    return kWrongUse;
  }
  flags.installation.host = flags.docker       ? RuntimeHost::kDocker
                            : flags.containerd ? RuntimeHost::kContainerd
                                               : RuntimeHost::kCrio;
  if (flags.installation.program.empty()) flags.installation.program = OwnPath();
  const auto told = installer(flags.installation);
  if (!told) return Refuse(told.error().reason);
  std::fputs(told->c_str(), stdout);
  return kDone;
}

void AddInstaller(CLI::App& app, RuntimeFlags& flags, const std::string& name,
                  const std::string& about, Result<std::string> (*installer)(Installation)) {
  CLI::App* const command = app.add_subcommand(name, about);
  command->add_flag("--docker", flags.docker, "Docker Engine's /etc/docker/daemon.json");
  command->add_flag("--containerd", flags.containerd, "containerd's /etc/containerd/config.toml");
  command->add_flag("--crio", flags.crio, "A file of CRI-O's /etc/crio/crio.conf.d");
  command->add_option("--config", flags.installation.config, "Another file than the usual one")
      ->type_name("PATH");
  command->add_option("--name", flags.installation.name, "What the engine calls the runtime")
      ->capture_default_str();
  Example(command, "tidemill-runtime " + name + " --docker && systemctl reload docker");
  command->callback([&flags, installer] {
    flags.run = [&flags, installer] { return RunInstaller(flags, installer); };
  });
}

int RunCommand(int argc, char** argv) {
  RuntimeFlags flags;
  CLI::App app(kAbout, "tidemill-runtime");
  app.require_subcommand(1);
  app.footer(std::string("Config file: ") + kRuntimeConfigPath +
             ", or what TIDEMILL_RUNTIME_CONFIG names:\n"
             "  runtimes: [runc, crun]        # the first that is there runs the container\n"
             "  cdi-folders: [/etc/cdi, /var/run/cdi]\n"
             "  hook-folders: []              # of hook files, for every container\n"
             "  driver-root: /                # for 'cdi generate'\n"
             "  from-environment: true        # TIDEMILL_CDI asks for devices\n"
             "  log: /var/log/tidemill-runtime.log   # what was done; else nowhere\n\n"
             "Example:\n  tidemill-runtime install --docker && systemctl reload docker\n"
             "  docker run --runtime tidemill -e TIDEMILL_CDI=nvidia.com/gpu=0 IMAGE\n\n"
             "tidemill-runtime " TIDEMILL_VERSION "\n");
  AddCdi(app, flags);
  AddHook(app, flags);
  AddInstaller(app, flags, "install", "Registers this program with an engine", Install);
  AddInstaller(app, flags, "uninstall", "Undoes what install did", Uninstall);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUse;
  }
  return flags.run();
}

int Main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "--help";
  if (std::find(kOwnWords.begin(), kOwnWords.end(), first) != kOwnWords.end()) {
    return RunCommand(argc, argv);
  }
  return BeRuntime({.args = std::vector<std::string>(argv + 1, argv + argc),
                    .config_path = ConfigPath(),
                    .path = VariableOr("PATH", ""),
                    .self = OwnPath()});
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) { return tidemill::Main(argc, argv); }
