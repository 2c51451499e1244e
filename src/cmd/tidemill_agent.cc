// SPDX-License-Identifier: Apache-2.0
// tidemill-agent: flags, construction, run.
#include <nss.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "agent/agent.h"
#include "agent/shell/cloud_machine.h"
#include "agent/shell/code_folders.h"
#include "agent/shell/device_check.h"
#include "agent/shell/http_link.h"
#include "agent/shell/http_streams.h"
#include "agent/shell/log_files.h"
#include "agent/shell/power_off.h"
#include "agent/shell/state_folder.h"
#include "base/log.h"
#include "base/private_file.h"
#include "base/random.h"
#include "base/wall.h"
#include "cloud/registry_role.h"
#include "cloud/world.h"
#include "cmd/agent_devices.h"
#include "cmd/agent_engine.h"
#include "cmd/agent_flags.h"
#include "cmd/agent_once.h"
#include "cmd/agent_times.h"
#include "data/mover/data_thread.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/thread_pool.h"
#include "net/tls.h"
#include "objects/open.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

enum Exit : int { kDone = 0, kFailed = 1, kWrongUse = 2 };

// For the logs and the containers of an agent that has left.
constexpr seconds kFinishTime{10};

int Refuse(const std::string& why) {
  std::fprintf(stderr, "tidemill-agent: %s\n", why.c_str());
  return kWrongUse;
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

// Says once, when the agent has joined and its engine is up, that it takes work.
void TellWhenReady(AsioLoop& loop, const Agent& agent, const AgentOptions& options, Log& log) {
  if (agent.joined() && !agent.engine().name.empty()) {
    return log.Info("agent.ready", {{"machine", agent.machine()},
                                    {"cpus", options.shape.millicpus / 1000},
                                    {"memory", options.shape.memory_bytes},
                                    {"engine", agent.engine().name}});
  }
  loop.After(milliseconds(20),
             [&loop, &agent, &options, &log] { TellWhenReady(loop, agent, options, log); });
}

// What the process stands on from its first moment.
struct Ground {
  const AgentFlags& flags;
  SystemRandom random = {};
  StderrLog log = {};
  AsioLoop loop = {};
  CloudWorld world = SystemWorld();
  std::unique_ptr<CloudMachine> cloud = {};  // null: in none
  MachineSelf self = {};
  std::vector<std::string> urls = {};  // of the servers
  std::vector<Origin> servers = {};
  std::shared_ptr<const TlsTrust> trust = {};
};

// What ends the machine when the agent has given up.
std::unique_ptr<MachineEnd> EndOf(Ground& ground, bool is_known) {
  auto group = ground.cloud && is_known ? ground.cloud->GroupEnd() : nullptr;
  return EndInTurn(ground.loop, ground.log, std::move(group),
                   EndByCommand(ground.loop, ground.flags.power_off));
}

void EndMachine(Ground& ground, MachineEnd& end, int& code) {
  end.End([&ground, &code](const Result<void>& ended) {
    if (!ended) ground.log.Error("machine.not_ended", {{"reason", ended.error().reason}});
    code = ended ? kDone : kFailed;
    ground.loop.Stop();
  });
}

// Asks the cloud which machine this is; one that does not tell it in the time after which an agent
// gives up is ended.
int FindMachine(Ground& ground) {
  const auto give_up = GiveUpOf(ground.flags);
  if (!give_up) return Refuse(give_up.error().reason);
  if (!ground.flags.in_cloud()) return kDone;
  auto cloud = CloudMachine::Open({ground.loop, ground.random, ground.log, ground.world},
                                  ground.flags.cloud);
  if (!cloud) return Refuse("--cloud: " + cloud.error().reason);
  ground.cloud = *std::move(cloud);
  auto self = ground.cloud->Find(*give_up);
  if (self) {
    ground.self = *std::move(self);
    return kDone;
  }
  ground.log.Error("agent.gave_up", {{"reason", self.error().reason}});
  const auto end = EndOf(ground, false);
  int code = kFailed;
  EndMachine(ground, *end, code);
  ground.loop.Run();
  return kFailed;
}

int FindServers(Ground& ground) {
  ground.urls = ground.flags.servers;
  if (ground.urls.empty() && !ground.self.server.empty()) ground.urls = {ground.self.server};
  if (ground.urls.empty()) return Refuse("--server is needed");
  for (const std::string& url : ground.urls) {
    const auto origin = ParseSafeUrl(url);
    if (!origin) return Refuse("--server: " + origin.error().reason);
    ground.servers.push_back(*origin);
  }
  const auto trust = TlsTrust::For(ground.servers, ground.flags.ca);
  if (!trust) return Refuse("--ca: " + trust.error().reason);
  ground.trust = *trust;
  return kDone;
}

// How the process ends, whoever wants it to.
struct Finish {
  Ground& ground;
  Engine& engine;
  LogFiles& logs;
  std::unique_ptr<MachineEnd> machine_end;
  bool finishes = false;
  int code = kDone;

  // Containers end by themselves when we are gone, but whoever waits for us wants them gone too.
  void StopWhenEmpty() {
    if (engine.containers() == 0) return ground.loop.Stop();
    ground.loop.After(milliseconds(20), [this] { StopWhenEmpty(); });
  }
  void Now() {
    if (std::exchange(finishes, true)) return;
    ground.loop.After(kFinishTime, [this] { ground.loop.Stop(); });
    logs.FlushAndUpload([this] { StopWhenEmpty(); });
  }
  void ByItself(AgentEnd end) {
    if (end == AgentEnd::kNotice) {
      ground.log.Warn("agent.left",
                      {{"reason", "its cloud takes the machine away; it does not join again"}});
      return Now();
    }
    if (std::exchange(finishes, true)) return;
    logs.Flush([this] { EndMachine(ground, *machine_end, code); });
  }
};

void HandleSignals(Ground& ground, Agent& agent, const AgentLimits& limits, Finish& finish) {
  // Twice: at once.
  ground.loop.OnSignal({SIGTERM, SIGINT}, [&, leaving = false](int signal) mutable {
    if (std::exchange(leaving, true)) std::_Exit(128 + signal);
    if (finish.finishes) return;
    ground.loop.After(limits.leave_grace + limits.leave_save + limits.leave_time + kFinishTime,
                      [&ground] { ground.loop.Stop(); });
    agent.Leave([&finish] { finish.Now(); });
  });
  // For an upgrade: what runs goes on, and the agent that is started next takes it over. Nothing is
  // destroyed, because that would end the containers.
  ground.loop.OnSignal({SIGUSR1}, [&](int) {
    finish.logs.Flush([&ground] {
      ground.log.Info("agent.stopped", {{"reason", "what runs is left for the next agent"}});
      std::_Exit(kDone);
    });
  });
}

// With a cloud, not before it was asked whether it takes the machine away: one that has left for
// that must not join again when it is started anew. It then waits for its end.
void StartAgent(Ground& ground, Agent& agent, const AgentOptions& options, Finish& finish) {
  const auto start = [&ground, &agent, &options] {
    agent.Start();
    TellWhenReady(ground.loop, agent, options, ground.log);
  };
  if (!ground.cloud) return start();
  const auto state = std::make_shared<std::pair<bool, bool>>();  // noticed, started
  ground.cloud->Watch(
      [&agent, state](const Notice& notice) {
        state->first = true;
        if (state->second) agent.OnNotice(notice);
      },
      [&ground, &options, &finish, start, state] {
        state->second = !state->first;
        if (state->second) return start();
        ground.log.Warn("agent.not_joining",
                        {{"reason", "its cloud takes the machine away, or may soon"}});
        if (options.give_up <= Duration::zero()) return;
        ground.loop.After(options.give_up, [&finish] { finish.ByItself(AgentEnd::kGaveUp); });
      });
}

int Run(const AgentFlags& flags) {
  if (flags.join_token_file.empty() && !flags.in_cloud()) {
    return Refuse("--join-token-file is needed, or --cloud");
  }
  Ground ground{flags};
  if (const int code = FindMachine(ground); code != kDone) return code;
  if (const int code = FindServers(ground); code != kDone) return code;
  auto folder = StateFolder::Open(flags.state, ground.random);
  if (!folder) return Refuse("--state: " + folder.error().reason);
  if (!std::filesystem::exists(InitPath(flags))) {
    return Refuse("there is no " + InitPath(flags) + "; say with --init where tidemill-init is");
  }
  auto options = OptionsOf(flags, **folder, ground.self, ground.log);
  if (!options) return Refuse(options.error().reason);
  if (const auto set = UseTimes(options->limits); !set) return Refuse(set.error().reason);
  WarnOfTimes(ground.log);
  WarnOfOpenFiles(ground.log, {flags.join_token_file});
  if (flags.join_token_file.empty()) options->proof = ground.cloud->ProofFor(ground.urls.front());
  auto role_options = RolesOf(flags.cloud_registries);
  if (!role_options) return Refuse(role_options.error().reason);
  const auto cache_bytes = flags.cache.empty() ? 0 : ParseSize(flags.cache);
  if (!cache_bytes) return Refuse("--cache: not a size such as 100GiB");
  AsioLoop& loop = ground.loop;
  ThreadPool disk(loop, 1);
  HttpLink link(loop, ground.servers, ground.random.Below(ground.servers.size()), ground.trust);
  HttpStreams streams(loop, ground.servers, ground.trust);
  ThreadPool files(loop, 2);  // for objects that are files; apart, or a pack would wait for itself
  ObjectStores objects({loop, files, ground.random, ground.world});
  LogFiles logs({loop, disk, ground.log, WallMs, PutInto(objects, loop)}, (*folder)->logs(),
                (*folder)->run());
  logs.Start();
  RegistryRoles roles(loop, *std::move(role_options));
  const std::unique_ptr<Engine> engine = MakeEngine(flags, loop, **folder, roles);
  DataThread data(loop, {(*folder)->data(), ground.world, FilesOf(flags), *cache_bytes});
  CodeFolders code(objects, files, (*folder)->code());
  RealDeviceCheck check(loop, CheckOf(flags.devices));
  Finish finish{ground, *engine, logs, EndOf(ground, true)};
  options->ended = [&finish](AgentEnd end) { finish.ByItself(end); };
  Agent agent({loop, link, *engine, ground.random, ground.log, logs, **folder, &data, &code, &data,
               &check, &streams},
              *options);
  StartAgent(ground, agent, *options, finish);
  HandleSignals(ground, agent, options->limits, finish);
  loop.Run();
  ground.log.Info("agent.stopped");
  return finish.code;
}

int Main(int argc, char** argv) {
  // The secrets of jobs are in its memory: a crash must not write them to a disk.
  prctl(PR_SET_DUMPABLE, 0);
  // A static program must not load the host's name service libraries.
  __nss_configure_lookup("hosts", "files dns");
  AgentFlags flags;
  CLI::App app("Runs items on this machine.", "tidemill-agent");
  app.set_version_flag("--version", std::string("tidemill-agent ") + TIDEMILL_VERSION);
  app.footer(
      "Example:\n  tidemill-agent --server https://batch.example --state "
      "/var/lib/tidemill-agent \\\n      --join-token-file /etc/tidemill/join.token\n"
      "  tidemill-agent --server https://batch.example --state /var/lib/tidemill-agent \\\n"
      "      --cloud aws --pool spot --project default\n\n"
      "SIGTERM ends what runs and gives it back. SIGUSR1 leaves it running, for the agent that is\n"
      "started next on the same state folder to take over: an upgrade.\n");
  AddFlags(app, flags);
  OnceFlags once_flags;
  const CLI::App* const once = AddOnce(app, once_flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUse;
  }
  if (once->parsed()) return OnceRun(flags, once_flags).Run();
  return Run(flags);
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) { return tidemill::Main(argc, argv); }
