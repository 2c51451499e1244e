// SPDX-License-Identifier: Apache-2.0
#include "cli/failures.h"

#include <algorithm>

#include "cli/format.h"
#include "wire/failure_json.h"

namespace tidemill::cli {
namespace {

constexpr std::size_t kItemsShown = 3;

std::string ItemsText(const FailureGroup& group) {
  std::string text;
  const std::size_t shown = std::min(kItemsShown, group.first_items.size());
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(group.first_items[i]);
  }
  const bool more = group.count > static_cast<std::int64_t>(shown);
  return std::string(group.count == 1 ? "item " : "items ") + text + (more ? " ..." : "");
}

}  // namespace

std::string GroupText(const FailureGroup& group) {
  return CountOf(group.count, "item") + ": " + Printable(group.key.signature) + " (" +
         ItemsText(group) + ")";
}

std::vector<std::string> GroupLines(const FailureSummary& summary, std::size_t most) {
  std::vector<std::string> lines;
  const std::size_t shown = std::min(most, summary.groups.size());
  const std::size_t digits = std::to_string(shown).size();
  std::int64_t groups = summary.rest_groups;
  std::int64_t items = summary.rest_items;
  for (std::size_t i = 0; i < summary.groups.size(); ++i) {
    const FailureGroup& group = summary.groups[i];
    if (i >= shown) {
      ++groups;
      items += group.count;
      continue;
    }
    const std::string number = std::to_string(i + 1);
    lines.push_back("  " + std::string(digits - number.size(), ' ') + number + "  " +
                    GroupText(group));
  }
  if (groups > 0) {
    lines.push_back("  and " + CountOf(items, "item") + " in " + CountOf(groups, "other group"));
  }
  return lines;
}

Result<FailureSummary> FetchFailures(Client& client, const std::string& job, Patience patience) {
  TIDEMILL_TRY(const std::string body, client.Get(JobTarget(job, "/failures"), patience));
  return ParseFailures(body);
}

void PrintFailures(const Console& console, const FailureSummary& summary, const std::string& job) {
  if (summary.failed == 0) return console.Line("no item has failed");
  for (const std::string& line : GroupLines(summary, FailureGroups::kShown)) {
    console.Line(Wrap(line, console.columns));
  }
  if (summary.partial) {
    console.Line("There are too many to tell all apart: counts of groups are at least these.");
  }
  if (job.empty() || summary.groups.empty()) return;
  const std::string item = std::to_string(summary.groups.front().example.item);
  console.Line("Look:   tidemill logs " + job + " --item " + item + "\nThen:   tidemill retry " +
               job + " --group 1");
}

int ShowFailures(const Context& context, const std::string& job) {
  const Console& console = context.console;
  const auto body = context.client.Get(JobTarget(job, "/failures"));
  if (!body) return Explain(console, context.client, body.error(), job);
  if (console.json) {
    console.Line(*body);
    return kDone;
  }
  const auto summary = ParseFailures(*body);
  if (!summary) return Explain(console, context.client, summary.error());
  if (console.quiet) {
    for (const FailureGroup& group : summary->groups) {
      console.Line(Printable(group.key.signature));
    }
    return kDone;
  }
  PrintFailures(console, *summary, job);
  return kDone;
}

}  // namespace tidemill::cli
