// SPDX-License-Identifier: Apache-2.0
#include "cli/why.h"

#include <utility>

#include "cli/format.h"

namespace tidemill::cli {
namespace {

// What is not known now is not known in ten seconds either: a server that does not plan says so at
// once.
constexpr Patience kWhyOnce{.busy = {}, .away = {}};

// "  the sentence goes on
//      and on"
std::string ReasonLines(const std::vector<WhyReason>& reasons, std::size_t width) {
  constexpr std::size_t kIndent = 4;
  std::string text;
  for (const WhyReason& reason : reasons) {
    const std::string said = reason.sentence.empty() ? reason.code : reason.sentence;
    std::string lines = Wrap(Printable(said), width > 2 * kIndent ? width - kIndent : width);
    for (std::size_t at = lines.find('\n'); at != lines.npos; at = lines.find('\n', at + 1)) {
      lines.insert(at + 1, kIndent, ' ');
    }
    text += "  " + lines + "\n";
  }
  return text;
}

std::string Headline(const JobWhy& why) {
  const std::string job = Printable(why.job);
  if (why.could_run == 0) return job + " has nothing to run now:";
  if (why.running >= why.could_run) {
    return job + " is running all " + CountOf(why.could_run, "item") + " it could run:";
  }
  return job + " is running " + Thousands(why.running) + " of " + CountOf(why.could_run, "item") +
         " it could run:";
}

template <typename Why>
int Print(const Context& context, const std::string& body, Result<Why> (*parse)(std::string_view)) {
  const Console& console = context.console;
  if (console.json) {
    console.Line(body);
    return kDone;
  }
  const auto why = parse(body);
  if (!why) return Explain(console, context.client, why.error());
  if (console.quiet) {
    for (const WhyReason& reason : why->reasons) console.Line(Printable(reason.code));
    return kDone;
  }
  console.out(WhyText(*why, console.columns));
  return kDone;
}

bool IsMissing(const Context& context, const Error& error) {
  return context.client.reached() && !context.client.forbidden() && error.code == Code::kNotFound;
}

}  // namespace

std::string WhyText(const JobWhy& why, std::size_t width) {
  return Clip(Headline(why), width) + "\n" + ReasonLines(why.reasons, width);
}

std::string WhyText(const MachineWhy& why, std::size_t width) {
  const std::string head = Printable(why.machine) + " of pool " + Printable(why.pool) + " is " +
                           Printable(why.state) + " and runs " + CountOf(why.running, "item") + ":";
  return Clip(head, width) + "\n" + ReasonLines(why.reasons, width);
}

int ShowWhy(const Context& context, const std::string& what) {
  // A machine may be called as a job is: spot-7. Jobs are asked for more often.
  const auto job = context.client.Get(JobTarget(what, "/why"), kWhyOnce);
  if (job) return Print<JobWhy>(context, *job, ParseJobWhy);
  if (!IsMissing(context, job.error())) {
    return Explain(context.console, context.client, job.error(), what);
  }
  const auto machine = context.client.Get("/v1/machines/" + PercentEncode(what) + "/why", kWhyOnce);
  if (machine) return Print<MachineWhy>(context, *machine, ParseMachineWhy);
  if (!IsMissing(context, machine.error())) {
    return Explain(context.console, context.client, machine.error());
  }
  context.console.ErrLine("no job and no machine '" + Printable(what) +
                          "'; tidemill jobs and tidemill machines list them");
  return kNoSuchThing;
}

}  // namespace tidemill::cli
