// SPDX-License-Identifier: Apache-2.0
#include "cli/items.h"

#include <algorithm>
#include <vector>

#include "base/limits.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/watch_details.h"
#include "wire/item_json.h"
#include "wire/job_json.h"

namespace tidemill::cli {
namespace {

Colour ColourOf(ItemState state) {
  switch (state) {
    case ItemState::kFailed:
      return Colour::kRed;
    case ItemState::kSucceeded:
      return Colour::kGreen;
    case ItemState::kCancelled:
      return Colour::kYellow;
    default:
      return Colour::kPlain;
  }
}

std::string EndOf(const Outcome& outcome) {
  if (outcome.cause != Cause::kFailed) return CauseWords(CauseName(outcome.cause));
  if (outcome.exit > 128) return "signal " + std::to_string(outcome.exit - 128);
  return "exit " + std::to_string(outcome.exit);
}

std::vector<Cell> RowOf(const ListedItem& item) {
  const auto& outcome = item.outcome;
  return {std::to_string(item.item),
          Cell(CauseText(item), ColourOf(item.state)),
          item.attempts > 0 ? Thousands(item.attempts) : "-",
          outcome ? Printable(outcome->machine) : "-",
          outcome ? DurationText(outcome->duration_ms) : "-",
          outcome && outcome->memory_bytes > 0 ? BytesText(outcome->memory_bytes) : "-",
          Printable(item.text)};
}

std::string TargetOf(const ItemsFlags& flags, std::int64_t left, const std::string& page) {
  const std::int64_t rows = std::min<std::int64_t>(left, limits::kPageRows);
  std::string target = JobTarget(flags.job, "/items?outcomes=true&limit=" + std::to_string(rows));
  if (!flags.state.empty()) target += "&state=" + PercentEncode(flags.state);
  if (!page.empty()) target += "&page=" + PercentEncode(page);
  return target;
}

// "12 failed of 250,000.  Retry them: ..."
std::string Footer(const JobCounts& job, const ItemsFlags& flags, std::int64_t shown, bool more) {
  const std::string id = PublicId(job.job);
  std::string text;
  if (flags.state == "failed") {
    text = Thousands(job.counts.failed) + " failed of " + Thousands(job.counts.total) + ".";
  } else {
    text = CountOf(job.counts.total, "item") + ".";
  }
  if (more) text += "  These are the first " + Thousands(shown) + "; more with --limit.";
  if (job.counts.failed > 0 && (flags.state.empty() || flags.state == "failed")) {
    text += std::string(more ? "\n" : "  ") + "Retry those that failed:  tidemill retry " + id +
            " --failed";
  }
  return text;
}

}  // namespace

std::string CauseText(const ListedItem& item) {
  if (!item.outcome) return std::string(ItemStateName(item.state));
  switch (item.state) {
    case ItemState::kFailed:
    case ItemState::kSucceeded:
      return EndOf(*item.outcome);
    case ItemState::kWaiting:
      return "waiting (" + EndOf(*item.outcome) + ")";
    default:
      return std::string(ItemStateName(item.state));
  }
}

int ListItems(const Context& context, const ItemsFlags& flags) {
  const Console& console = context.console;
  std::vector<std::vector<Cell>> rows;
  std::string page;
  std::int64_t left = flags.limit;
  do {
    const auto body = context.client.Get(TargetOf(flags, left, page));
    if (!body) return Explain(console, context.client, body.error(), flags.job);
    if (console.json) console.Line(*body);
    const auto answer = ParseItems(*body);
    if (!answer) return Explain(console, context.client, answer.error());
    for (const ListedItem& item : answer->items) {
      if (console.quiet) console.Line(std::to_string(item.item));
      if (!console.json && !console.quiet) rows.push_back(RowOf(item));
    }
    left -= static_cast<std::int64_t>(answer->items.size());
    page = answer->next ? FormatPlace(*answer->next) : "";
  } while (left > 0 && !page.empty());
  if (console.json || console.quiet) return kDone;

  const auto body = context.client.Get(JobTarget(flags.job));
  if (!body) return Explain(console, context.client, body.error(), flags.job);
  const auto job = ParseJobCounts(*body);
  if (!job) return Explain(console, context.client, job.error());
  if (rows.empty()) {
    console.Line("no item of " + PublicId(job->job) + " is " +
                 (flags.state.empty() ? "there" : flags.state));
    return kDone;
  }
  console.out(FormatTable({{"ITEM", true},
                           {"CAUSE"},
                           {"ATTEMPTS", true},
                           {"LAST ON"},
                           {"TOOK", true},
                           {"MEMORY", true},
                           {"TEXT"}},
                          rows, console.columns, console.colours));
  console.Line(Footer(*job, flags, static_cast<std::int64_t>(rows.size()), !page.empty()));
  return kDone;
}

Result<std::optional<ListedItem>> FindItem(Client& client, const std::string& job,
                                           std::int64_t number) {
  // No chunk holds more items, so this place is at or before the item, and most often at it.
  ItemPlace place{static_cast<std::int32_t>(number / limits::kItemsPerChunk),
                  static_cast<int>(number % limits::kItemsPerChunk)};
  int rows = 1;
  // Short chunks put the item further on, page after page.
  for (int pages = 0; pages < 10'000; ++pages) {
    TIDEMILL_TRY(const std::string body,
                 client.Get(JobTarget(job, "/items?outcomes=true&limit=" + std::to_string(rows) +
                                               "&page=" + FormatPlace(place))));
    TIDEMILL_TRY(const ItemPage page, ParseItems(body));
    for (const ListedItem& item : page.items) {
      if (item.item == number) return std::optional(item);
    }
    if (!page.next || (!page.items.empty() && page.items.back().item > number)) break;
    place = *page.next;
    rows = limits::kPageRows;
  }
  return std::optional<ListedItem>();
}

}  // namespace tidemill::cli
