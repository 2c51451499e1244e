// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_details.h"

#include <algorithm>

#include "cli/console.h"
#include "cli/cost.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/watch_view.h"
#include "model/outcome.h"

namespace tidemill::cli {
namespace {

// What a person takes in at a glance.
constexpr std::size_t kMostProgress = 5;
constexpr std::size_t kMostWaits = 3;
constexpr std::size_t kProgressBar = 20;

struct LineShape {
  std::size_t digits = 0;  // of the longest item number
  std::size_t width = 0;
  bool colours = false;
};

std::string ProgressLine(const ItemProgress& one, const LineShape& shape) {
  const std::string number = std::to_string(one.item);
  const std::string head =
      "  item " + std::string(shape.digits - number.size(), ' ') + number + "  ";
  const std::string percent = PercentText(one.permille, 1000);
  const std::string note = one.note.empty() ? "" : "  " + Printable(one.note);
  const std::size_t used = WidthOf(head) + kProgressBar + 2 + WidthOf(percent);
  if (used > shape.width) return Clip(head + percent + note, shape.width);
  return head + Bar(one.permille, 1000, kProgressBar, shape.colours) + "  " + percent +
         Clip(note, shape.width - used);
}

// "  $184.12 so far, ... , $331.00 by the end ($310.00 to $390.00)"
std::vector<std::string> MoneyLines(const WatchDetails& details, std::size_t width) {
  std::vector<std::string> lines;
  if (!details.cost) return lines;
  const std::string spent = SpentText(*details.cost);
  const std::string end = EndCostText(*details.cost);
  if (!spent.empty()) lines.push_back(Clip("  " + spent, width));
  if (!end.empty()) {
    const auto& budget = details.cost->budget;
    const std::string of = budget ? " of a budget of " + MoneyText(budget->micros) : "";
    lines.push_back(Clip("  " + end + of, width));
  }
  const std::string machines = MachinesText(*details.cost);
  if (!machines.empty()) lines.push_back(Clip("  machines: " + machines, width));
  return lines;
}

}  // namespace

void AddMachines(WatchDetails& details, const std::vector<ListedMachine>& machines, JobId job) {
  for (const ListedMachine& machine : machines) {
    if (!machine.status) continue;
    for (const JobUse& use : machine.status->jobs) {
      if (use.job != job) continue;
      if (!use.waits_for.empty()) ++details.waits[use.waits_for];
      details.progress.insert(details.progress.end(), use.progress.begin(), use.progress.end());
    }
  }
  std::sort(details.progress.begin(), details.progress.end(),
            [](const ItemProgress& a, const ItemProgress& b) { return a.item < b.item; });
  if (details.progress.size() > kMostProgress) details.progress.resize(kMostProgress);
}

std::vector<std::pair<std::string, std::int64_t>> FailuresOf(
    const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::pair<std::string, std::int64_t>> causes;
  for (const auto& [name, count] : counts) {
    const bool failed = name != "total" && name != CauseName(Cause::kSucceeded);
    if (failed && count > 0) causes.emplace_back(name, count);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return causes;
}

std::string CauseWords(std::string_view name) {
  if (name == CauseName(Cause::kFailed)) return "exit or signal";
  if (name == CauseName(Cause::kLost)) return "machine lost";
  std::string words = Printable(name);
  std::replace(words.begin(), words.end(), '-', ' ');
  return words;
}

std::string CausesText(const std::vector<std::pair<std::string, std::int64_t>>& causes) {
  std::string text;
  for (const auto& [name, count] : causes) {
    if (!text.empty()) text += ", ";
    text += CauseWords(name) + " " + Thousands(count);
  }
  return text;
}

std::vector<std::string> DetailLines(const WatchDetails& details, std::size_t width, bool colours) {
  std::vector<std::string> lines = MoneyLines(details, width);
  if (!details.causes.empty()) {
    lines.push_back(FormatSpans(
        {Cell("  attempts that did not succeed: "), Cell(CausesText(details.causes), Colour::kRed)},
        width, colours));
  }
  std::size_t shown = 0;
  for (const auto& [what, machines] : details.waits) {
    if (++shown > kMostWaits) break;
    lines.push_back(Clip(
        "  " + CountOf(machines, "machine") + (machines == 1 ? " is " : " are ") + Printable(what),
        width));
  }
  LineShape shape{.digits = 0, .width = width, .colours = colours};
  for (const ItemProgress& one : details.progress) {
    shape.digits = std::max(shape.digits, std::to_string(one.item).size());
  }
  for (const ItemProgress& one : details.progress) lines.push_back(ProgressLine(one, shape));
  return lines;
}

}  // namespace tidemill::cli
