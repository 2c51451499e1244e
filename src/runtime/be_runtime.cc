// SPDX-License-Identifier: Apache-2.0
#include "runtime/be_runtime.h"

#include <cstdio>

#include "base/result.h"
#include "base/wall.h"
#include "runtime/below.h"
#include "runtime/bundle.h"
#include "runtime/call.h"
#include "runtime/config.h"
#include "runtime/files.h"
#include "wire/oci_json.h"
#include "wire/one_line.h"

namespace tidemill {
namespace {

constexpr int kFailed = 1;

void Note(const std::string& log, std::string_view level, const std::string& what) {
  if (!log.empty()) AppendToFile(log, FormatOciLogLine(level, OneLine(what), WallMs(), true));
}

// As runc does it: containerd shows the last error of the log, people see standard error.
int Refuse(const RuntimeCall& call, const std::string& log, const std::string& reason) {
  const std::string message = "tidemill-runtime: " + OneLine(reason);
  if (!call.log.empty()) {
    AppendToFile(call.log, FormatOciLogLine("error", message, WallMs(), call.log_json));
  }
  Note(log, "error", reason);
  std::fprintf(stderr, "%s\n", message.c_str());
  return kFailed;
}

std::string Told(const RuntimeCall& call, const BundleChange& change) {
  std::string text = call.command + " " + call.ConfigPath() + ":";
  for (const std::string& device : change.devices) text.append(" ").append(device);
  if (change.hooks > 0) text.append(" ").append(std::to_string(change.hooks)).append(" hooks");
  return text + (change.edited ? "" : " nothing asked for");
}

}  // namespace

int BeRuntime(const RuntimeWorld& world) {
  const RuntimeCall call = ReadRuntimeCall(world.args);
  const auto config = ReadRuntimeConfig(world.config_path);
  if (!config) return Refuse(call, "", config.error().reason);
  // First, so that a bundle is edited only if something will run it.
  const auto program = FindRuntimeBelow(config->runtimes, world.path, world.self);
  if (!program) return Refuse(call, config->log, program.error().reason);
  if (call.MakesContainer()) {
    const auto change = EditBundle(call, *config);
    if (!change) return Refuse(call, config->log, change.error().reason);
    Note(config->log, "debug", Told(call, *change) + ", then " + *program);
  }
  return Refuse(call, config->log, BecomeProgram(*program, world.args).reason);
}

}  // namespace tidemill
