// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs.h"

#include <vector>

#include "cli/cost.h"
#include "cli/failures.h"
#include "cli/format.h"
#include "cli/machines.h"
#include "cli/table.h"
#include "cli/then.h"
#include "cli/wishes.h"
#include "wire/job_json.h"
#include "wire/notify_json.h"
#include "wire/spec_json.h"

namespace tidemill::cli {
namespace {

// What a person looks at without asking for more.
constexpr int kNewest = 20;
constexpr int kPage = 100;

Colour ColourOf(const Job& job, const Counts& counts) {
  switch (job.state) {
    case JobState::kPaused:
    case JobState::kCancelling:
    case JobState::kCancelled:
      return Colour::kYellow;
    case JobState::kFinished:
      return counts.failed > 0 ? Colour::kRed : Colour::kGreen;
    default:
      return Colour::kPlain;
  }
}

std::vector<Cell> RowOf(const JobsAnswer::Entry& entry, const Surroundings& around) {
  const Job& job = entry.job;
  Counts counts;
  counts.total = job.items;
  const bool counted = entry.counts.has_value();
  if (counted) counts = *entry.counts;
  const auto number = [&](std::int64_t value) { return counted ? Thousands(value) : "-"; };
  return {PublicId(job),
          Cell(std::string(JobStateName(job.state)), ColourOf(job, counts)),
          Thousands(job.items),
          number(counts.succeeded),
          Cell(number(counts.failed), counts.failed > 0 ? Colour::kRed : Colour::kPlain),
          number(counts.running),
          number(counts.waiting),
          ClockText(job.created_ms, around.now_ms(), around.zone_s)};
}

std::string CommandText(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out.push_back(' ');
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n\"'\\$&|;<>()*") == std::string::npos;
    out += plain ? word : "'" + word + "'";
  }
  return Printable(out);
}

// What its tag stands for is said by a few digits: enough to tell two images from each other.
std::string ImageText(const std::string& image, const std::string& digest) {
  constexpr std::size_t kShort = 7 + 12;  // "sha256:" and some
  const bool names_it = image.find('@') != std::string::npos;
  if (digest.empty() || names_it) return Printable(image);
  return Printable(image + " (" + digest.substr(0, kShort) + ")");
}

std::string AskedText(const Job& job) {
  const std::int64_t asked = job.spec.resources.memory_bytes;
  std::string text = NeedsText(job.spec);
  if (asked > 0 && job.memory_bytes > asked) {
    text += " (" + BytesText(job.memory_bytes) + " by now)";
  }
  return text + " an item; " +
         (job.spec.retries == 1 ? "1 retry" : Thousands(job.spec.retries) + " retries");
}

std::string ItemCountsText(const Counts& counts) {
  std::string text = "succeeded " + Thousands(counts.succeeded) + "   failed " +
                     Thousands(counts.failed) + "   running " + Thousands(counts.running) +
                     "   waiting " + Thousands(counts.waiting);
  if (counts.cancelled > 0) text += "   cancelled " + Thousands(counts.cancelled);
  return text;
}

std::string NextStep(const JobCounts& shown) {
  const std::string id = PublicId(shown.job);
  switch (shown.job.state) {
    case JobState::kPaused:
      return "Look:   tidemill failures " + id + "\nThen:   tidemill resume " + id;
    case JobState::kFinished:
      if (shown.counts.failed == 0) return "Look:   tidemill usage " + id;
      return "Look:   tidemill failures " + id + "\nThen:   tidemill retry " + id + " --failed";
    case JobState::kCancelled:
      return "";
    default:
      if (shown.job.state == JobState::kActive && shown.counts.running == 0) {
        return "Why:    tidemill why " + id + "\nThen:   tidemill watch " + id;
      }
      return "Follow it with:  tidemill watch " + id;
  }
}

// What machines say of a job that should run and does not.
void PrintTroubles(const Context& context, const JobCounts& shown) {
  constexpr int kMost = 3;
  if (shown.job.state != JobState::kActive || shown.counts.running > 0) return;
  const auto machines = FetchMachines(context.client);
  if (!machines) return;
  if (machines->empty()) context.console.Line("  no machine has joined yet");
  int printed = 0;
  for (const ListedMachine& machine : *machines) {
    if (!machine.status) continue;
    for (const JobUse& use : machine.status->jobs) {
      const std::string what = !use.trouble.empty()     ? " cannot run it now: " + use.trouble
                               : !use.waits_for.empty() ? " is " + use.waits_for
                                                        : "";
      if (use.job != shown.job.id || what.empty() || printed++ >= kMost) continue;
      context.console.Line("  " + Printable(machine.session.machine + what));
    }
  }
}

// Only for the eye: what does not come is not shown.
void PrintGroups(const Context& context, const JobCounts& shown) {
  constexpr std::size_t kMost = 3;
  if (shown.counts.failed == 0) return;
  const auto failures = FetchFailures(context.client, PublicId(shown.job));
  if (!failures) return;
  for (const std::string& line : GroupLines(*failures, kMost)) {
    context.console.Line(Clip(line, context.console.columns));
  }
}

// Who was told of it; nobody, mostly, and then nothing is asked.
std::string FetchTold(const Context& context, const Job& job) {
  const auto targets = ParseNotify(job.spec.document);
  if (!targets || targets->empty()) return "";
  const auto body = context.client.Get(JobTarget(PublicId(job), "/notifications"));
  const auto all = body ? ParseNotifications(*body) : tl::unexpected(body.error());
  return all ? ToldText(*all) : "";
}

void PrintJob(const Context& context, const JobCounts& shown) {
  const Console& console = context.console;
  const Job& job = shown.job;
  const auto line = [&](const std::string& name, const std::string& text) {
    const std::string title = "  " + name + std::string(11 - name.size(), ' ');
    console.Line(Clip(title + text, console.columns));
  };
  std::string state(JobStateName(job.state));
  if (!job.reason.empty()) state += ": " + Printable(job.reason);
  console.Line(console.Painted(Colour::kBold, PublicId(job)) + " " +
               console.Painted(ColourOf(job, shown.counts),
                               Clip(state, console.columns - PublicId(job).size() - 1)));
  line("items", Thousands(shown.counts.total) + "   " + ItemCountsText(shown.counts));
  if (const auto spec = ParseSpec(job.spec.document)) {
    if (!spec->run.image.empty()) line("image", ImageText(spec->run.image, job.image_digest));
    if (spec->run.command) line("command", CommandText(*spec->run.command));
    if (spec->run.mode != Mode::kProcess) line("mode", std::string(ModeName(spec->run.mode)));
  }
  line("asks", AskedText(job));
  for (const auto& [name, text] : WishLines(job, context.around)) line(name, text);
  const std::int64_t now = context.around.now_ms();
  line("submitted",
       ClockText(job.created_ms, now, context.around.zone_s) + ", " + AgoText(job.created_ms, now));
  if (job.state != JobState::kDraft) {
    if (const auto cost = FetchCost(context.client, PublicId(job))) {
      for (const auto& [name, text] : CostLines(*cost)) line(name, text);
    }
  }
  if (const std::string told = FetchTold(context, job); !told.empty()) line("told", told);
  if (job.round > 0) line("retried", job.round == 1 ? "once" : Thousands(job.round) + " times");
  PrintTroubles(context, shown);
  PrintGroups(context, shown);
  const std::string next = NextStep(shown);
  if (!next.empty()) console.Line(next);
}

}  // namespace

std::string NeedsText(const JobSpec& spec) {
  const Resources& each = spec.resources;
  if (WantsWholeMachine(each)) return "a whole machine";
  std::string text = CpusText(each.millicpus) + (each.millicpus == 1000 ? " cpu" : " cpus");
  if (each.memory_bytes > 0) text += " and " + BytesText(each.memory_bytes);
  if (spec.memory_max > 0) text += " to " + BytesText(spec.memory_max);
  for (const auto& [kind, asked] : each.devices) {
    text += ", " + Printable(DeviceInWords(kind, asked));
  }
  return text;
}

int ListJobs(const Context& context, const JobsFlags& flags) {
  const Console& console = context.console;
  std::vector<std::vector<Cell>> rows;
  std::string before;
  bool more = false;
  do {
    std::string target =
        "/v1/jobs?counts=true&limit=" + std::to_string(flags.all ? kPage : kNewest);
    if (!flags.state.empty()) target += "&state=" + PercentEncode(flags.state);
    if (!before.empty()) target += "&before=" + PercentEncode(before);
    const auto body = context.client.Get(target);
    if (!body) return Explain(console, context.client, body.error());
    if (console.json) console.Line(*body);
    const auto answer = ParseJobs(*body);
    if (!answer) return Explain(console, context.client, answer.error());
    for (const auto& entry : answer->jobs) {
      if (console.quiet) console.Line(PublicId(entry.job));
      rows.push_back(RowOf(entry, context.around));
    }
    more = !answer->next.empty();
    before = answer->next;
  } while (flags.all && more);
  if (console.json || console.quiet) return kDone;
  if (rows.empty()) {
    console.Line(flags.state.empty() ? "no jobs yet.  Try:  tidemill submit --example hello"
                                     : "no job is " + flags.state);
    return kDone;
  }
  console.out(FormatTable({{"JOB"},
                           {"STATE"},
                           {"ITEMS", true},
                           {"SUCCEEDED", true},
                           {"FAILED", true},
                           {"RUNNING", true},
                           {"WAITING", true},
                           {"SUBMITTED"}},
                          rows, console.columns, console.colours));
  if (more)
    console.Line("These are the newest " + std::to_string(kNewest) +
                 ".  All of them:  tidemill jobs --all");
  return kDone;
}

int ShowJob(const Context& context, const std::string& job) {
  const auto body = context.client.Get(JobTarget(job));
  if (!body) return Explain(context.console, context.client, body.error(), job);
  if (context.console.json) {
    context.console.Line(*body);
    return kDone;
  }
  const auto shown = ParseJobCounts(*body);
  if (!shown) return Explain(context.console, context.client, shown.error());
  PrintJob(context, *shown);
  return kDone;
}

}  // namespace tidemill::cli
