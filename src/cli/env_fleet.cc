// SPDX-License-Identifier: Apache-2.0
#include "cli/env_fleet.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/env_build.h"
#include "cli/env_inside.h"
#include "cli/env_jupyter.h"
#include "cli/fleet_jupyter.h"
#include "cli/fleet_seat.h"
#include "cli/format.h"
#include "cli/prompt.h"
#include "cli/shell.h"
#include "cli/spec_file.h"
#include "cli/watched_stream.h"
#include "env/hold.h"
#include "net/http.h"

namespace tidemill::cli {
namespace {

// No stream lives longer.
constexpr const char* kLongest = "12h";

std::vector<std::string> ForShell(std::vector<std::string> words) {
  words.insert(words.begin(), "/bin/sh");
  return words;
}

// "host:5000/films" -> "films"
std::string LastPart(const std::string& name) { return name.substr(name.rfind('/') + 1); }

// Those of the fleet are asked for by number, not by name.
Result<std::map<std::string, std::int64_t>> DevicesOf(const EnvFlags& flags) {
  std::map<std::string, std::int64_t> devices;
  for (const std::string& device : flags.devices) {
    if (device.starts_with('/') || device.find('=') != std::string::npos) {
      return Fail(Code::kInvalid, "--device " + device +
                                      ": on a machine of the fleet it is a kind, as "
                                      "nvidia.com/gpu, once for each that is needed");
    }
    ++devices[device];
  }
  return devices;
}

// NAME=VALUE, or NAME: as it is here.
Result<std::vector<std::pair<std::string, std::string>>> VariablesOf(const Surroundings& around,
                                                                     const EnvFlags& flags) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const std::string& text : flags.variables) {
    if (text.find('=') == std::string::npos) {
      if (const auto value = around.env(text)) variables.emplace_back(text, *value);
      continue;
    }
    TIDEMILL_TRY(auto pair, SplitPair(text));
    variables.push_back(std::move(pair));
  }
  return variables;
}

// Whether the name says where a registry is: else the machines must have the image already.
bool HasRegistry(const std::string& name) {
  const std::string first = name.substr(0, name.find('/'));
  return first.size() < name.size() &&
         (first.find_first_of(".:") != std::string::npos || first == "localhost");
}

// The image as machines find it, and the job that holds a container of it.
Result<SessionSpec> Prepare(const Context& context, const EnvFlags& flags, EnvPurpose purpose,
                            const std::string& what) {
  SessionSpec spec{.pool = flags.pool,
                   .queue = flags.queue,
                   .cpus = flags.cpus,
                   .memory = flags.memory,
                   .timeout = kLongest};
  TIDEMILL_TRY_VOID(CheckPushName(flags.to));
  TIDEMILL_TRY(spec.devices, DevicesOf(flags));
  TIDEMILL_TRY(spec.env, VariablesOf(context.around, flags));
  TIDEMILL_TRY(MadeEnv made, MakeEnv(context.console, context.around, flags, purpose));
  const std::string& name = made.folder.environment.name;
  if (!flags.to.empty() || HasRegistry(name)) TIDEMILL_TRY_VOID(PushEnv(made, flags.to));
  spec.name = LastPart(name) + "-" + what;
  spec.image = made.built.image;
  return spec;
}

std::string IdleText(const EnvFlags& flags) {
  return "nothing was typed or shown for " + std::to_string(flags.idle_minutes) +
         " minutes (--idle)";
}

// Nothing, or the exit code: there is no such pool, which was said. Before an image is built for
// it.
std::optional<int> MissingPool(const Context& context, const std::string& pool) {
  const auto found = context.client.Get("/v1/pools/" + PercentEncode(pool));
  if (found) return std::nullopt;
  if (context.client.reached() && found.error().code == Code::kNotFound) {
    context.console.ErrLine("there is no pool '" + Printable(pool) +
                            "'; tidemill pools lists them");
    return kNoSuchThing;
  }
  return Explain(context.console, context.client, found.error());
}

// A command, or a shell, beside what holds the container.
int WorkThere(const Context& context, FleetSeat& seat, const EnvFlags& flags,
              std::vector<std::string> command, Duration idle) {
  std::shared_ptr<WatchedStream::Watch> watch;
  context.client.loop().OnSignal({SIGINT, SIGTERM}, [&context, &watch](int) {
    context.client.Interrupt();
    if (watch) watch->Break("interrupted");
  });
  ShellFlags shell{.job = seat.job(), .item = 0, .command = std::move(command)};
  return OpenItemShell(context, shell, [&](std::unique_ptr<ByteStream> stream) {
    auto watched = std::make_unique<WatchedStream>(context.client.loop(), std::move(stream), idle,
                                                   IdleText(flags));
    watch = watched->watch();
    return watched;
  });
}

void InterruptBySignals(const Context& context) {
  context.client.loop().OnSignal({SIGINT, SIGTERM},
                                 [&client = context.client](int) { client.Interrupt(); });
}

// Of a command that was not even begun, as with `docker run`: any other code may be its own.
int NotBegun(int exit) { return exit == kInterrupted ? exit : 125; }

int EnterThere(const Context& context, Random& random, const EnvFlags& flags,
               const std::string& what, const std::vector<std::string>& command, Duration idle) {
  if (context.console.json) {
    context.console.ErrLine("tidemill env " + what + " has no --json: what it prints is its own");
    return kWrongUse;
  }
  InterruptBySignals(context);
  const auto refuse = [&what](int exit) { return what == "run" ? NotBegun(exit) : exit; };
  if (const auto missing = MissingPool(context, flags.pool)) return refuse(*missing);
  auto spec = Prepare(context, flags, EnvPurpose::kImage, what);
  if (!spec) return refuse(RefuseEnv(context.console, spec.error()));
  spec->entrypoint = ForShell(HoldWords());
  FleetSeat seat(context, random);
  std::optional<int> exit = seat.Take(*spec);
  const bool begun = !exit;
  if (begun) exit = WorkThere(context, seat, flags, command, idle);
  seat.Leave();
  return begun ? *exit : refuse(*exit);
}

}  // namespace

int EnvRunOnFleet(const Context& context, Random& random, const EnvFlags& flags) {
  // However long it is silent: it ends by itself.
  return EnterThere(context, random, flags, "run", flags.command, Duration::zero());
}

int EnvShellOnFleet(const Context& context, Random& random, const EnvFlags& flags) {
  return EnterThere(context, random, flags, "shell", ForShell(ShellWords(flags.pool)),
                    std::chrono::minutes(flags.idle_minutes));
}

int EnvJupyterOnFleet(const Context& context, Random& random, const EnvFlags& flags) {
  InterruptBySignals(context);
  if (const auto missing = MissingPool(context, flags.pool)) return *missing;
  const auto port = JupyterPortFor(flags.port);
  if (!port) return RefuseEnv(context.console, port.error());
  auto spec = Prepare(context, flags, EnvPurpose::kJupyterImage, "jupyter");
  if (!spec) return RefuseEnv(context.console, spec.error());
  spec->entrypoint = ForShell(HeldJupyterWords(kWorkFolder, flags.idle_minutes * 60));
  FleetSeat seat(context, random);
  std::optional<int> exit = seat.Take(*spec);
  if (!exit) exit = FleetJupyter(context, seat, *port, MakeJupyterToken(random)).Run(spec->image);
  seat.Leave();
  return *exit;
}

}  // namespace tidemill::cli
