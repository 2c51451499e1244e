// SPDX-License-Identifier: Apache-2.0
#include "cli/apply.h"

#include <utility>
#include <vector>

#include "cli/format.h"
#include "cli/pages.h"
#include "cli/prompt.h"
#include "cli/settings_diff.h"
#include "cli/spec_file.h"
#include "net/http.h"
#include "wire/spec_json.h"
#include "yaml/yaml.h"

namespace tidemill::cli {
namespace {

Result<SettingsNow> FetchNow(Client& client) {
  const auto unseen = [](const std::string&) {};
  SettingsNow now;
  TIDEMILL_TRY(now.pools, FetchAll<PoolSettings>(client, "/v1/pools", ParsePools, unseen));
  TIDEMILL_TRY(now.queues, FetchAll<Queue>(client, "/v1/queues", ParseQueues, unseen));
  return now;
}

std::string TargetOf(const SettingsChange& change) {
  return (change.what == "pool" ? "/v1/pools/" : "/v1/queues/") + PercentEncode(change.name);
}

Result<void> Take(Client& client, const Step& step) {
  const std::string target = TargetOf(step.change);
  if (step.change.kind == SettingsChange::Kind::kRemove) {
    TIDEMILL_TRY_VOID(client.Delete(target));
    return {};
  }
  if (step.policy) TIDEMILL_TRY_VOID(client.Put(target, FormatPoolPolicy(*step.policy)));
  if (step.machines) {
    TIDEMILL_TRY_VOID(client.Put(target + "/machines", FormatPoolMachines(*step.machines)));
  }
  if (step.queue) TIDEMILL_TRY_VOID(client.Put(target, FormatQueueBody(*step.queue)));
  return {};
}

std::vector<SettingsChange> ChangesOf(const std::vector<Step>& steps) {
  std::vector<SettingsChange> changes;
  for (const Step& step : steps) changes.push_back(step.change);
  return changes;
}

void Show(const Console& console, const std::vector<Step>& steps, const std::string& file) {
  if (console.json) return;
  if (console.quiet) {
    for (const Step& step : steps) console.Line(step.change.what + " " + step.change.name);
  } else if (steps.empty()) {
    console.Line("Nothing to do: all is as " + file + " says");
  } else {
    console.out(StepsText(steps, console.columns, console.colours));
  }
}

int TakeAll(const Context& context, const std::vector<Step>& steps) {
  const Console& console = context.console;
  for (const Step& step : steps) {
    const auto taken = Take(context.client, step);
    if (taken) continue;
    const int exit = Explain(console, context.client, taken.error());
    console.ErrLine("That was " + step.change.what + " " + step.change.name +
                    ". What was done before it stays; the same command does the rest.");
    return exit;
  }
  if (console.json) {
    console.Line(FormatChanges(ChangesOf(steps), true));
  } else if (!console.quiet && !steps.empty()) {
    console.Line("Applied");
  }
  return kDone;
}

}  // namespace

Result<SettingsFile> LoadSettings(std::string_view yaml, const std::string& file) {
  const auto text = ToJson(yaml);
  if (!text) return Fail(Code::kInvalid, WithFile(file, text.error().reason));
  auto settings = ParseSettingsFile(text->json);
  if (settings) return settings;
  const SpecFault fault = FaultOf(settings.error().reason);
  return Fail(Code::kInvalid,
              file + ":" + std::to_string(text->LineOf(fault.path)) + ": " + fault.text);
}

int Apply(const Context& context, const ApplyFlags& flags) {
  const Console& console = context.console;
  const std::string name = flags.file == "-" ? "standard input" : flags.file;
  const auto yaml = ReadInputFile(flags.file, kYamlBytes);
  if (!yaml) {
    console.ErrLine(yaml.error().reason);
    return kWrongUse;
  }
  const auto file = LoadSettings(*yaml, name);
  if (!file) {
    console.ErrLine(file.error().reason);
    return kWrongUse;
  }
  const auto now = FetchNow(context.client);
  if (!now) return Explain(console, context.client, now.error());
  if (const auto why = WhyNot(*file, *now, flags.prune)) {
    console.ErrLine(name + ": " + *why);
    return kWrongUse;
  }
  const std::vector<Step> steps = StepsTo(*file, *now, flags.prune);
  Show(console, steps, name);
  if (flags.dry_run) {
    if (console.json) console.Line(FormatChanges(ChangesOf(steps), false));
    return steps.empty() ? kDone : kFailed;
  }
  if (!steps.empty() && !flags.yes) {
    if (!IsAtTerminal()) {
      console.ErrLine("nothing was changed: say --yes, or answer on a terminal");
      return kWrongUse;
    }
    if (!AskYes("Apply this? y for yes: ")) {
      console.ErrLine("Nothing was changed");
      return kFailed;
    }
  }
  return TakeAll(context, steps);
}

}  // namespace tidemill::cli
