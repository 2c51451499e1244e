// SPDX-License-Identifier: Apache-2.0
#include "cli/results.h"

#include "cli/format.h"
#include "cli/row_file.h"
#include "wire/outcome_json.h"

namespace tidemill::cli {
namespace {

constexpr int kPageRows = 5000;
constexpr std::int64_t kShowResultsEveryMs = 250;

// For so long a server may be away: a job of millions is not begun anew for a restart.
constexpr Patience kResultsPatience{.busy = std::chrono::minutes(1),
                                    .away = std::chrono::seconds(30)};

}  // namespace

void RowProgress::Show(std::int64_t rows, std::int64_t now_ms) {
  if (!console_.err_terminal || console_.quiet || now_ms - shown_ms_ < kShowResultsEveryMs) return;
  shown_ms_ = now_ms;
  shown_ = true;
  console_.err("\r" + CountOf(rows, "row"));
}

void RowProgress::Clear() {
  if (shown_) console_.err("\r\x1b[K");
  shown_ = false;
}

int WriteResults(const Context& context, const ResultsFlags& flags) {
  const Console& console = context.console;
  auto file = RowFile::Open(flags.out);
  if (!file) {
    console.ErrLine(file.error().reason);
    return file.error().code == Code::kInvalid ? kWrongUse : kFailed;
  }
  RowProgress progress(console);
  const auto failed = [&](const Error& error) {
    progress.Clear();
    console.ErrLine(error.reason);
    return kFailed;
  };
  std::string cursor;
  do {
    std::string target = JobTarget(flags.job, "/outcomes?limit=" + std::to_string(kPageRows));
    if (!cursor.empty()) target += "&cursor=" + PercentEncode(cursor);
    const auto body = context.client.Get(target, cursor.empty() ? Patience{} : kResultsPatience);
    if (!body) {
      progress.Clear();
      return Explain(console, context.client, body.error(), flags.job);
    }
    const auto page = ParseOutcomes(*body);
    if (!page) return failed(page.error());
    for (const OutcomeRow& row : page->rows) {
      if (const auto added = file->Add(row); !added) return failed(added.error());
    }
    progress.Show(file->rows(), context.around.now_ms());
    cursor = page->next ? FormatOutcomePlace(*page->next) : "";
  } while (!cursor.empty());
  if (const auto finished = file->Finish(); !finished) return failed(finished.error());
  progress.Clear();
  if (flags.out != "-" && !console.quiet) {
    console.Line(flags.out + " has " + CountOf(file->rows(), "row") + ", one for each attempt");
  }
  return kDone;
}

}  // namespace tidemill::cli
