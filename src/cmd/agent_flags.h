// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flags of tidemill-agent, and what they mean for it.

#include <sys/statvfs.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "agent/deps.h"
#include "agent/room.h"
#include "agent/shell/machine.h"
#include "agent/shell/state_folder.h"
#include "cloud/machine_self.h"
#include "cloud/registry_role.h"
#include "cloud/world.h"
#include "cmd/agent_devices.h"
#include "model/token.h"
#include "model/volume.h"
#include "wire/duration.h"
#include "wire/size.h"

namespace tidemill {

struct AgentFlags {
  std::vector<std::string> servers;
  std::string ca;
  std::string state;
  std::string engine = "docker";
  std::string docker_socket = "/var/run/docker.sock";
  std::string init;
  std::string machine;
  std::string join_token_file;
  double cpus = 0;
  std::string memory;
  DeviceFlags devices;
  std::vector<std::string> cloud_registries;
  std::vector<std::string> files;
  std::vector<std::string> host_folders;
  std::string cache;
  bool no_shell = false;
  std::string cloud = "none";
  std::string pool;
  std::string project;
  std::string give_up;
  std::string power_off = "systemctl poweroff";

  bool in_cloud() const { return cloud != "none"; }
};

// Beside this program, unless the flag says otherwise.
inline std::string InitPath(const AgentFlags& flags) {
  if (!flags.init.empty()) return std::filesystem::absolute(flags.init).string();
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "tidemill-init").string();
}

// Without containers items have all files that we have anyway.
inline std::vector<std::string> FilesOf(const AgentFlags& flags) {
  return flags.engine == "process" ? std::vector<std::string>{"/"} : flags.files;
}

// "HOST=aws:REGION" or "HOST=google".
inline Result<RegistryRolesOptions> RolesOf(const std::vector<std::string>& texts) {
  RegistryRolesOptions options;
  options.world = SystemWorld();
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const auto registry =
        ParseCloudRegistry(sign == text.npos ? "" : std::string_view(text).substr(sign + 1));
    if (!registry || sign == 0) {
      return Fail(Code::kInvalid,
                  "--cloud-registry: not like images.example=aws:eu-west-1: " + text);
    }
    options.hosts[text.substr(0, sign)] = *registry;
  }
  return options;
}

// By a file: a command line and an environment can be read by others.
inline Result<std::string> ReadJoinToken(const AgentFlags& flags) {
  std::ifstream file(flags.join_token_file);
  std::string token;
  if (!(file >> token)) {
    return Fail(Code::kInvalid, "--join-token-file: cannot read " + flags.join_token_file);
  }
  if (!IsToken(kJoinPrefix, token)) {
    return Fail(Code::kInvalid, "--join-token-file: there is no join token in " +
                                    flags.join_token_file +
                                    "; make one: tidemill token create --join POOL");
  }
  return token;
}

// Folders of the machine that its pool may lend to jobs. An item that may write to one could make
// whatever is inside it a link to anywhere; so no other is there, nor anything of ours.
inline Result<std::vector<std::string>> HostFoldersOf(const AgentFlags& flags) {
  const std::string flag = "--allow-host-folders: ";
  std::error_code error;
  std::vector<std::string> others = {std::filesystem::canonical(flags.state, error).string()};
  for (const std::string& path : flags.host_folders) {
    if (!IsFolderPath(path)) return Fail(Code::kInvalid, flag + "not like /srv/models: " + path);
    if (std::filesystem::canonical(path, error) != path ||
        !std::filesystem::is_directory(path, error)) {
      return Fail(Code::kInvalid, flag + path + " is no folder, or is reached by a link");
    }
    for (const std::string& other : others) {
      if (!Overlap(path, other)) continue;
      return Fail(Code::kInvalid, flag + path + " and " + other + " are not apart");
    }
    others.push_back(path);
  }
  return flags.host_folders;
}

// A machine of a cloud that nobody uses costs; one's own does not. Zero: never.
inline Result<Duration> GiveUpOf(const AgentFlags& flags) {
  if (flags.give_up == "never") return Duration::zero();
  if (flags.give_up.empty()) {
    return flags.in_cloud() ? Duration(std::chrono::minutes(30)) : Duration::zero();
  }
  const auto time = ParseDuration(flags.give_up);
  if (!time || time->count() <= 0) {
    return Fail(Code::kInvalid, "--give-up: not a time such as 30m, nor never");
  }
  return Duration(*time);
}

// Its own flag, its id or name in its cloud, or what the host is called.
inline std::string NameFor(const AgentFlags& flags, const MachineSelf& self) {
  if (!flags.machine.empty()) return flags.machine;
  if (!self.place.name.empty()) return self.place.name;
  return self.place.id.empty() ? MachineName() : self.place.id;
}

// All but what proves who it is.
inline Result<AgentOptions> OptionsOf(const AgentFlags& flags, const StateFolder& folder,
                                      const MachineSelf& self, Log& log) {
  AgentOptions options;
  options.machine = NameFor(flags, self);
  options.machine_key = folder.machine_key();
  options.place = self.place;
  options.pool = flags.pool.empty() ? self.pool : flags.pool;
  options.project = flags.project.empty() ? self.project : flags.project;
  TIDEMILL_TRY(options.give_up, GiveUpOf(flags));
  if (!flags.join_token_file.empty()) {
    TIDEMILL_TRY(std::string first, ReadJoinToken(flags));
    // While somebody writes the file, the one before must do.
    options.join_token = [flags, last = std::move(first)]() mutable {
      if (auto read = ReadJoinToken(flags)) last = *std::move(read);
      return last;
    };
  }
  options.shape = MachineShape();
  if (flags.cpus > 0) options.shape.millicpus = static_cast<std::int64_t>(flags.cpus * 1000);
  if (!flags.memory.empty()) {
    const auto bytes = ParseSize(flags.memory);
    if (!bytes) return Fail(Code::kInvalid, "--memory: not a size such as 16GiB");
    options.shape.memory_bytes = *bytes;
  }
  std::vector<std::string> troubles;
  TIDEMILL_TRY(options.devices, FindDevices(flags.devices, troubles));
  for (const std::string& trouble : troubles) log.Warn("cdi.trouble", {{"reason", trouble}});
  options.shape.devices = CountDevices(options.devices);
  TIDEMILL_TRY(options.host_folders, HostFoldersOf(flags));
  // Half of the disk is for caches, and what items write must have some room too.
  if (struct statvfs disk{}; statvfs(flags.state.c_str(), &disk) == 0) {
    options.data_bytes = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize / 4);
  }
  options.streams = !flags.no_shell;
  options.disk_trouble = [path = flags.state] { return DiskTrouble(path); };
  options.pass = folder.pass();
  options.run = folder.run();
  return options;
}

inline void AddCloudFlags(CLI::App& app, AgentFlags& flags) {
  app.add_option("--cloud", flags.cloud,
                 "aws or gcp: the machine is of that cloud, which tells where it is, who it is and "
                 "when it is taken away")
      ->check(CLI::IsMember({"aws", "gcp", "none"}))
      ->capture_default_str();
  app.add_option("--pool", flags.pool,
                 "Without a join token: its pool; else as the machine's tag or attribute "
                 "tidemill-pool says");
  app.add_option("--project", flags.project, "The same of the pool's project, or tidemill-project");
  app.add_option("--give-up", flags.give_up,
                 "When no server has taken it for this long, the machine is ended: 30m with "
                 "--cloud, else never")
      ->type_name("TIME");
  app.add_option("--power-off", flags.power_off,
                 "What ends the machine, if the group that made it does not")
      ->type_name("COMMAND")
      ->capture_default_str();
}

inline void AddFlags(CLI::App& app, AgentFlags& flags) {
  app.add_option("--server", flags.servers,
                 "A server's URL; may be given again. With --cloud, else as the machine's tag or "
                 "attribute tidemill-server says");
  app.add_option("--ca", flags.ca, "Who vouches for an https server; else whom the system believes")
      ->type_name("FILE")
      ->envname("TIDEMILL_CA");
  app.add_option("--state", flags.state, "A folder of its own, kept over restarts")->required();
  app.add_option("--engine", flags.engine, "docker, or process: without containers")
      ->check(CLI::IsMember({"docker", "process"}))
      ->capture_default_str();
  app.add_option("--docker-socket", flags.docker_socket, "Where Docker Engine listens")
      ->capture_default_str();
  app.add_option("--init", flags.init, "tidemill-init, if it is not beside this program");
  app.add_option("--machine", flags.machine,
                 "Its name; if it is not given, its cloud's for it, or the host's");
  app.add_option("--join-token-file", flags.join_token_file,
                 "Holds the join token of its pool: tidemill token create --join POOL. With "
                 "--cloud it may be left out: the cloud says who the machine is")
      ->type_name("FILE");
  app.add_option("--cpus", flags.cpus, "Use no more processors than this")
      ->check(CLI::Range(0.001, 1'000'000.0));
  app.add_option("--memory", flags.memory, "Use no more memory than this, such as 16GiB");
  AddDeviceFlags(app, flags.devices);
  app.add_option("--files", flags.files,
                 "A folder below which inputs and outputs may be file:// URLs, for all jobs of its "
                 "pool; may be given again")
      ->type_name("FOLDER");
  app.add_option("--allow-host-folders", flags.host_folders,
                 "A folder of this machine that its pool may lend to jobs as a volume, just as it "
                 "is written; none if it is not given; may be given again")
      ->type_name("FOLDER");
  app.add_option("--cache", flags.cache,
                 "What the caches of jobs may take of the disk, such as 100GiB; half of what is "
                 "free if it is not given")
      ->type_name("SIZE");
  app.add_option("--cloud-registry", flags.cloud_registries,
                 "A registry of images, by another name, to which this machine's role gives a "
                 "login: HOST=aws:REGION or HOST=google; may be given again")
      ->type_name("HOST=CLOUD");
  app.add_flag("--no-shell", flags.no_shell,
               "Nobody gets into what runs on this machine: no 'tidemill shell', and no ports");
  AddCloudFlags(app, flags);
}

}  // namespace tidemill
