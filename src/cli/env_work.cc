// SPDX-License-Identifier: Apache-2.0
#include "cli/env_work.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/env_build.h"
#include "cli/env_inside.h"
#include "cli/env_jupyter.h"
#include "cli/env_report.h"
#include "cli/prompt.h"
#include "env/jupyter.h"
#include "env/probe.h"
#include "wire/env_report_json.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

// What all of them have in common.
InsidePlan PlanFor(const MadeEnv& made, const Surroundings& around, const EnvFlags& flags) {
  std::error_code error;
  fs::path folder = fs::canonical(flags.folder, error);
  if (error) folder = fs::absolute(flags.folder);
  return {.image = made.built.image,
          .folder = folder.string(),
          .uid = ::getuid(),
          .gid = ::getgid(),
          .user = around.Env("USER").value_or(""),
          .devices = flags.devices,
          .variables = flags.variables};
}

Result<std::vector<std::string>> WordsFor(MadeEnv& made, const InsidePlan& plan) {
  TIDEMILL_TRY(const DockerInfo info, made.docker.Info());
  return InsideWords(plan, info);
}

// Returns only if it did not begin.
Error Enter(MadeEnv& made, const InsidePlan& plan, const std::vector<Variable>& variables = {}) {
  const auto words = WordsFor(made, plan);
  if (!words) return words.error();
  return made.docker.Become(*words, variables);
}

// At our own terminal, or between our own pipes.
int EnterHere(const Console& console, MadeEnv& made, InsidePlan plan) {
  plan.input = true;
  plan.terminal = IsAtTerminal() && console.out_terminal;
  RefuseEnv(console, Enter(made, plan));
  return kNotBegun;
}

// What the program of env/probe.h has printed; nothing if Docker could not even begin it.
Result<std::optional<EnvReport>> Probe(MadeEnv& made, const InsidePlan& plan) {
  TIDEMILL_TRY(const std::vector<std::string> words, WordsFor(made, plan));
  TIDEMILL_TRY(const ProgramEnd end, made.docker.Try(words));
  if (end.exit == kNotBegun) return std::optional<EnvReport>();
  if (end.exit != 0) {
    return Fail(Code::kInternal,
                "python3 of " + plan.image + " ended with exit code " + std::to_string(end.exit));
  }
  auto report = ParseEnvReport(end.out);
  if (!report) return While("what python3 of " + plan.image + " says", report.error());
  return std::optional(*std::move(report));
}

}  // namespace

int EnvRun(const Console& console, const Surroundings& around, const EnvFlags& flags) {
  auto made = MakeEnv(console, around, flags, EnvPurpose::kWork);
  if (!made) {
    RefuseEnv(console, made.error());
    return kNotBegun;
  }
  InsidePlan plan = PlanFor(*made, around, flags);
  plan.command = flags.command;
  return EnterHere(console, *made, std::move(plan));
}

int EnvShell(const Console& console, const Surroundings& around, const EnvFlags& flags) {
  auto made = MakeEnv(console, around, flags, EnvPurpose::kWork);
  if (!made) {
    RefuseEnv(console, made.error());
    return kNotBegun;
  }
  InsidePlan plan = PlanFor(*made, around, flags);
  plan.program = "/bin/sh";
  plan.command = ShellWords(made->folder.environment.name);
  return EnterHere(console, *made, std::move(plan));
}

int EnvJupyter(const Console& console, const Surroundings& around, Random& random,
               const EnvFlags& flags) {
  auto made = MakeEnv(console, around, flags, EnvPurpose::kJupyter);
  if (!made) return RefuseEnv(console, made.error());
  const auto port = JupyterPortFor(flags.port);
  if (!port) return RefuseEnv(console, port.error());
  InsidePlan plan = PlanFor(*made, around, flags);
  plan.port = *port;
  plan.port_inside = kJupyterPort;
  plan.program = "/bin/sh";
  plan.command = JupyterWords(kWorkFolder);
  // By its name alone: arguments are seen by everybody on the machine.
  plan.variables.emplace_back("JUPYTER_TOKEN");
  const std::string token = MakeJupyterToken(random);
  ShowJupyter(console, JupyterPlaceAt(*port, token, plan.image),
              "begins there, for this machine alone. Ctrl-C stops it.");
  return RefuseEnv(console, Enter(*made, plan, {{"JUPYTER_TOKEN", token}}));
}

int EnvTest(const Console& console, const Surroundings& around, const EnvFlags& flags) {
  auto made = MakeEnv(console, around, flags, EnvPurpose::kWork);
  if (!made) return RefuseEnv(console, made.error());
  InsidePlan plan = PlanFor(*made, around, flags);
  plan.program = "python3";
  plan.command = {"-c", ProbeScript()};
  const auto report = Probe(*made, plan);
  if (!report) {
    const int exit = RefuseEnv(console, report.error());
    return report.error().code == Code::kUnavailable ? kNoDevice : exit;
  }
  if (!report->has_value()) {
    console.ErrLine("Docker did not begin it, and has said why above");
    return flags.devices.empty() ? kFailed : kNoDevice;
  }
  return ShowEnvReport(console, plan.image, **report, flags.devices);
}

}  // namespace tidemill::cli
