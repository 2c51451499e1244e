// SPDX-License-Identifier: Apache-2.0
#include "cli/here_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/console.h"
#include "cli/format.h"
#include "cli/items.h"
#include "cli/spec_file.h"
#include "model/retry.h"

namespace tidemill::cli {
namespace {

std::string EnvOf(const RunSpec& run, const std::string& secret) {
  for (const SecretUse& use : run.secrets) {
    if (use.secret == secret && !use.env.empty()) return use.env;
  }
  return "";
}

}  // namespace

int ExitOfEnd(const OneEnd& end) {
  if (!end.outcome) return kCannotRun;
  switch (end.outcome->cause) {
    case Cause::kSucceeded:
      return kDone;
    case Cause::kFailed:
      return std::max<int>(end.outcome->exit, kFailed);
    case Cause::kTimeout:
      return kTimeIsOver;
    case Cause::kOutOfMemory:
      return kMemoryIsOver;
    case Cause::kInterrupted:
    case Cause::kCancelled:
      return kInterrupted;
    case Cause::kRejectedOutput:
      return kFailed;
    case Cause::kLost:
    case Cause::kMachineFault:
    case Cause::kImage:
      break;
  }
  return kCannotRun;
}

std::string OutcomeText(const Outcome& outcome) {
  ListedItem item;
  const bool is_well = outcome.cause == Cause::kSucceeded;
  item.state = is_well ? ItemState::kSucceeded : ItemState::kFailed;
  item.outcome = outcome;
  std::string text = CauseText(item) + ", after " + DurationText(outcome.duration_ms);
  if (outcome.memory_bytes > 0) text += ", " + BytesText(outcome.memory_bytes) + " at most";
  return text;
}

Result<std::map<std::string, std::string>> SecretsFor(const RunSpec& run,
                                                      const std::vector<std::string>& told,
                                                      const ReadVariable& env,
                                                      const ReadSecretFile& read) {
  std::set<std::string> names;
  for (const SecretUse& use : run.secrets) names.insert(use.secret);
  if (!run.image_login.empty()) names.insert(run.image_login);
  std::map<std::string, std::string> values;
  for (const std::string& text : told) {
    TIDEMILL_TRY(const auto pair, SplitPair(text));
    const auto& [name, file] = pair;
    if (!names.contains(name)) {
      return Fail(Code::kInvalid, "--secret: the job names no secret '" + name + "'");
    }
    auto value = read(file);
    if (!value) return Fail(Code::kInvalid, "--secret " + name + ": cannot read " + file);
    values[name] = *std::move(value);
  }
  for (const std::string& name : names) {
    if (values.contains(name)) continue;
    const std::string variable = EnvOf(run, name);
    auto value = env(name);
    if (!value && !variable.empty()) value = env(variable);
    if (!value) {
      const std::string& better = variable.empty() ? name : variable;
      return Fail(Code::kInvalid, "the job has the secret '" + name +
                                      "', which servers tell nobody; give it with --secret " +
                                      name + "=FILE, or in the variable " + better);
    }
    values[name] = *std::move(value);
  }
  return values;
}

Result<std::map<std::string, std::string>> VolumesFor(const RunSpec& run,
                                                      const std::vector<std::string>& told) {
  std::map<std::string, std::string> folders;
  for (const std::string& text : told) {
    TIDEMILL_TRY(auto pair, SplitPair(text));
    folders.insert(std::move(pair));
  }
  for (const VolumeMount& mount : run.mounts) {
    if (folders.contains(mount.volume)) continue;
    return Fail(Code::kInvalid, "the job mounts the volume '" + mount.volume +
                                    "' of its pool; give a folder for it with --volume " +
                                    mount.volume + "=FOLDER");
  }
  return folders;
}

std::int64_t MemoryOf(std::int64_t start, std::int64_t most, std::int64_t peak) {
  std::int64_t memory = start;
  // A peak may be a little above what is allowed: files that are mapped count in it.
  while (memory > 0 && memory + memory / 8 < peak && memory < most) {
    memory = NextMemory(memory, most);
  }
  return memory;
}

}  // namespace tidemill::cli
