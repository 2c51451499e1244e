// SPDX-License-Identifier: Apache-2.0
// tidemill-agent: flags, construction, run.
#include <nss.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "agent/agent.h"
#include "agent/room.h"
#include "agent/shell/code_folders.h"
#include "agent/shell/http_link.h"
#include "agent/shell/log_files.h"
#include "agent/shell/machine.h"
#include "agent/shell/state_folder.h"
#include "base/log.h"
#include "base/random.h"
#include "base/wall.h"
#include "cloud/registry_role.h"
#include "cloud/world.h"
#include "data/mover/data_thread.h"
#include "engine/docker/docker_engine.h"
#include "engine/process/process_engine.h"
#include "model/token.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/thread_pool.h"
#include "net/tls.h"
#include "objects/open.h"
#include "wire/size.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

enum Exit : int { kDone = 0, kFailed = 1, kWrongUse = 2 };

struct Flags {
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
  std::vector<std::string> devices;
  std::vector<std::string> cloud_registries;
  std::vector<std::string> files;
  std::string cache;
};

int Refuse(const std::string& why) {
  std::fprintf(stderr, "tidemill-agent: %s\n", why.c_str());
  return kWrongUse;
}

// Beside this program, unless the flag says otherwise.
std::string InitPath(const Flags& flags) {
  if (!flags.init.empty()) return std::filesystem::absolute(flags.init).string();
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "tidemill-init").string();
}

// Without containers items have all files that we have anyway.
std::vector<std::string> FilesOf(const Flags& flags) {
  return flags.engine == "process" ? std::vector<std::string>{"/"} : flags.files;
}

PutObject PutInto(ObjectStores& objects, Loop& loop) {
  return [&objects, &loop](const std::string& url, std::string body,
                           std::function<void(Result<void>)> done) {
    const auto place = objects.Find(url);
    if (place) return place->store->Put(place->key, BodyOf(std::move(body)), {}, std::move(done));
    loop.After(Duration{},
               [done = std::move(done), error = place.error()] { done(tl::unexpected(error)); });
  };
}

// "HOST=aws:REGION" or "HOST=google".
Result<RegistryRolesOptions> RolesOf(const std::vector<std::string>& texts) {
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

std::unique_ptr<Engine> MakeEngine(const Flags& flags, AsioLoop& loop, const StateFolder& folder,
                                   RegistryRoles& roles) {
  if (flags.engine == "process") {
    return std::make_unique<ProcessEngine>(
        loop, ProcessEngineOptions{.state_folder = folder.engine(), .init_path = InitPath(flags)});
  }
  const RegistryRole role = [&roles](const std::string& host, auto done) {
    roles.LoginFor(host, std::move(done));
  };
  return std::make_unique<DockerEngine>(loop,
                                        DockerEngineOptions{.socket_path = flags.docker_socket,
                                                            .state_folder = folder.engine(),
                                                            .init_path = InitPath(flags),
                                                            .agent_id = folder.id(),
                                                            .registry_role = role});
}

// By a file: a command line and an environment can be read by others.
Result<std::string> ReadJoinToken(const Flags& flags) {
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

// "KIND=PATH": a device of the machine that one container has at a time.
Result<std::vector<MachineDevice>> DevicesOf(const std::vector<std::string>& texts) {
  std::vector<MachineDevice> devices;
  std::set<std::string> paths;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const std::string kind = text.substr(0, sign);
    const std::string path = sign == std::string::npos ? "" : text.substr(sign + 1);
    if (!IsDeviceKind(kind) || kind == kWholeMachine || path.empty() || path.front() != '/') {
      return Fail(Code::kInvalid, "--device: not like nvidia.com/gpu=/dev/nvidia0: " + text);
    }
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      return Fail(Code::kInvalid, "--device: there is no " + path);
    }
    if (!paths.insert(path).second) {
      return Fail(Code::kInvalid, "--device: " + path + " is given twice");
    }
    devices.push_back({kind, path});
  }
  return devices;
}

Result<AgentOptions> OptionsOf(const Flags& flags, const StateFolder& folder) {
  AgentOptions options;
  options.machine = flags.machine.empty() ? MachineName() : flags.machine;
  options.machine_key = folder.machine_key();
  TIDEMILL_TRY(std::string first, ReadJoinToken(flags));
  // While somebody writes the file, the one before must do.
  options.join_token = [flags, last = std::move(first)]() mutable {
    if (auto read = ReadJoinToken(flags)) last = *std::move(read);
    return last;
  };
  options.shape = MachineShape();
  if (flags.cpus > 0) options.shape.millicpus = static_cast<std::int64_t>(flags.cpus * 1000);
  if (!flags.memory.empty()) {
    const auto bytes = ParseSize(flags.memory);
    if (!bytes) return Fail(Code::kInvalid, "--memory: not a size such as 16GiB");
    options.shape.memory_bytes = *bytes;
  }
  TIDEMILL_TRY(options.devices, DevicesOf(flags.devices));
  options.shape.devices = CountDevices(options.devices);
  // Half of the disk is for caches, and what items write must have some room too.
  if (struct statvfs disk{}; statvfs(flags.state.c_str(), &disk) == 0) {
    options.data_bytes = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize / 4);
  }
  options.disk_trouble = [path = flags.state] { return DiskTrouble(path); };
  options.pass = folder.pass();
  options.run = folder.run();
  return options;
}

// Says once, when the agent has joined and its engine is up, that it takes work.
void TellWhenReady(AsioLoop& loop, const Agent& agent, const AgentOptions& options, Log& log) {
  if (agent.joined() && !agent.engine().name.empty()) {
    return log.Info("agent.ready", {{"machine", options.machine},
                                    {"cpus", options.shape.millicpus / 1000},
                                    {"memory", options.shape.memory_bytes},
                                    {"engine", agent.engine().name}});
  }
  loop.After(milliseconds(20),
             [&loop, &agent, &options, &log] { TellWhenReady(loop, agent, options, log); });
}

int Run(const Flags& flags) {
  std::vector<Origin> servers;
  for (const std::string& url : flags.servers) {
    const auto origin = ParseSafeUrl(url);
    if (!origin) return Refuse("--server: " + origin.error().reason);
    servers.push_back(*origin);
  }
  const auto trust = TlsTrust::For(servers, flags.ca);
  if (!trust) return Refuse("--ca: " + trust.error().reason);
  SystemRandom random;
  auto folder = StateFolder::Open(flags.state, random);
  if (!folder) return Refuse("--state: " + folder.error().reason);
  if (!std::filesystem::exists(InitPath(flags))) {
    return Refuse("there is no " + InitPath(flags) + "; say with --init where tidemill-init is");
  }
  const auto options = OptionsOf(flags, **folder);
  if (!options) return Refuse(options.error().reason);
  auto role_options = RolesOf(flags.cloud_registries);
  if (!role_options) return Refuse(role_options.error().reason);
  StderrLog log;
  AsioLoop loop;
  ThreadPool disk(loop, 1);
  HttpLink link(loop, servers, random.Below(servers.size()), *trust);
  const CloudWorld world = SystemWorld();
  ThreadPool files(loop, 2);  // for objects that are files; apart, or a pack would wait for itself
  ObjectStores objects({loop, files, random, world});
  LogFiles logs({loop, disk, log, WallMs, PutInto(objects, loop)}, (*folder)->logs(),
                (*folder)->run());
  logs.Start();
  RegistryRoles roles(loop, *std::move(role_options));
  const std::unique_ptr<Engine> engine = MakeEngine(flags, loop, **folder, roles);
  const auto cache_bytes = flags.cache.empty() ? 0 : ParseSize(flags.cache);
  if (!cache_bytes) return Refuse("--cache: not a size such as 100GiB");
  DataThread data(loop, {(*folder)->data(), world, FilesOf(flags), *cache_bytes});
  CodeFolders code(objects, files, (*folder)->code());
  Agent agent({loop, link, *engine, random, log, logs, **folder, &data, &code, &data}, *options);
  agent.Start();
  TellWhenReady(loop, agent, *options, log);
  bool leaving = false;
  // Containers end by themselves when we are gone, but whoever waits for us wants them gone too.
  std::function<void()> stop_when_empty = [&] {
    if (engine->containers() == 0) return loop.Stop();
    loop.After(milliseconds(20), stop_when_empty);
  };
  loop.OnSignal({SIGTERM, SIGINT}, [&](int signal) {
    if (std::exchange(leaving, true)) std::_Exit(128 + signal);
    const AgentLimits& limits = options->limits;
    loop.After(
        limits.leave_grace + limits.leave_save + limits.leave_time + std::chrono::seconds(10),
        [&loop] { loop.Stop(); });
    agent.Leave([&] { logs.FlushAndUpload(stop_when_empty); });
  });
  // For an upgrade: what runs goes on, and the agent that is started next takes it over. Nothing is
  // destroyed, because that would end the containers.
  loop.OnSignal({SIGUSR1}, [&](int) {
    logs.Flush([&log] {
      log.Info("agent.stopped", {{"reason", "what runs is left for the next agent"}});
      std::_Exit(kDone);
    });
  });
  loop.Run();
  log.Info("agent.stopped");
  return kDone;
}

int Main(int argc, char** argv) {
  // The secrets of jobs are in its memory: a crash must not write them to a disk.
  prctl(PR_SET_DUMPABLE, 0);
  // A static program must not load the host's name service libraries.
  __nss_configure_lookup("hosts", "files dns");
  Flags flags;
  CLI::App app("Runs items on this machine.", "tidemill-agent");
  app.set_version_flag("--version", std::string("tidemill-agent ") + TIDEMILL_VERSION);
  app.footer(
      "Example:\n  tidemill-agent --server https://batch.example --state "
      "/var/lib/tidemill-agent \\\n      --join-token-file /etc/tidemill/join.token\n\n"
      "SIGTERM ends what runs and gives it back. SIGUSR1 leaves it running, for the agent that is\n"
      "started next on the same state folder to take over: an upgrade.\n");
  app.add_option("--server", flags.servers, "A server's URL; may be given again")->required();
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
  app.add_option("--machine", flags.machine, "Its name; the host's if it is not given");
  app.add_option("--join-token-file", flags.join_token_file,
                 "Holds the join token of its pool: tidemill token create --join POOL")
      ->required()
      ->type_name("FILE");
  app.add_option("--cpus", flags.cpus, "Use no more processors than this")
      ->check(CLI::Range(0.001, 1'000'000.0));
  app.add_option("--memory", flags.memory, "Use no more memory than this, such as 16GiB");
  app.add_option("--device", flags.devices,
                 "A device that items may ask for, each for itself; may be given again")
      ->type_name("KIND=PATH");
  app.add_option("--files", flags.files,
                 "A folder below which inputs and outputs may be file:// URLs, for all jobs of its "
                 "pool; may be given again")
      ->type_name("FOLDER");
  app.add_option("--cache", flags.cache,
                 "What the caches of jobs may take of the disk, such as 100GiB; half of what is "
                 "free if it is not given")
      ->type_name("SIZE");
  app.add_option("--cloud-registry", flags.cloud_registries,
                 "A registry of images, by another name, to which this machine's role gives a "
                 "login: HOST=aws:REGION or HOST=google; may be given again")
      ->type_name("HOST=CLOUD");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUse;
  }
  return Run(flags);
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) { return tidemill::Main(argc, argv); }
