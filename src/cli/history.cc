// SPDX-License-Identifier: Apache-2.0
#include "cli/history.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "cli/failures.h"
#include "cli/format.h"
#include "cli/results.h"
#include "cli/row_file.h"
#include "wire/failure_json.h"
#include "wire/history_json.h"
#include "wire/job_json.h"
#include "wire/outcome_json.h"

namespace tidemill::cli {
namespace {

// Of one file, unpacked: 65,536 rows, and the text of an item in each of its rows.
constexpr std::size_t kHistoryFileBytes = std::size_t{1} << 30;

// The ledger of one job, read one thing at a time.
class Ledger {
 public:
  Ledger(AsioLoop& loop, ObjectStore& store, std::string prefix)
      : loop_(loop), store_(store), prefix_(std::move(prefix)) {}

  Result<std::string> Get(const std::string& name) { return GetKey(prefix_ + name); }

  // In their folders' names an id stands behind that of a job, because two deployments may both
  // have a render-7 in one bucket. Without one it is whichever there is. kInvalid: there are
  // several.
  Result<void> FindId() {
    const std::string job = prefix_.substr(0, prefix_.size() - kFolder.size());
    TIDEMILL_TRY(const ListPage page, Await<ListPage>([&](ObjectStore::Done<ListPage> done) {
                   store_.List({.prefix = job + ".", .delimiter = "/"}, std::move(done));
                 }));
    if (page.prefixes.empty()) return Fail(Code::kNotFound, "there is no such object");
    if (page.prefixes.size() > 1) {
      std::string names;
      for (const std::string& prefix : page.prefixes) names += "\n  " + prefix;
      return Fail(Code::kInvalid, "there are several; name one:" + names);
    }
    prefix_ = page.prefixes[0] + std::string(kFolder.substr(1));
    return {};
  }

  Result<std::string> GetKey(const std::string& key) {
    std::string bytes;
    TIDEMILL_TRY_VOID(Await<ObjectInfo>([&](ObjectStore::Done<ObjectInfo> done) {
      store_.Get(
          key, {},
          [&bytes](std::string_view piece) -> Result<void> {
            if (bytes.size() + piece.size() > kHistoryFileBytes) {
              return Fail(Code::kInvalid, "it is larger than any file of a ledger");
            }
            bytes += piece;
            return {};
          },
          std::move(done));
    }));
    return bytes;
  }

  // Keys below a folder, by page.
  Result<ListPage> List(const std::string& folder, const std::string& next) {
    return Await<ListPage>([&](ObjectStore::Done<ListPage> done) {
      store_.List({.prefix = prefix_ + folder, .next = next}, std::move(done));
    });
  }

 private:
  template <typename T, typename Call>
  Result<T> Await(Call call) {
    std::optional<Result<T>> answer;
    call([this, &answer](Result<T> result) {
      answer.emplace(std::move(result));
      loop_.Stop();
    });
    while (!answer) loop_.Run();
    return *std::move(answer);
  }

  static constexpr std::string_view kFolder = "/ledger/";

  AsioLoop& loop_;
  ObjectStore& store_;
  std::string prefix_;
};

Result<void> ReadOutcomes(Ledger& ledger, const std::function<Result<void>(OutcomeRow&&)>& on_row) {
  std::string next;
  do {
    TIDEMILL_TRY(const ListPage page, ledger.List("outcomes/", next));
    for (const ObjectInfo& object : page.objects) {
      if (!object.key.ends_with(".jsonl.zst")) continue;
      TIDEMILL_TRY(const std::string packed, ledger.GetKey(object.key));
      const auto lines = Decompress(packed, kHistoryFileBytes);
      if (!lines) return While(object.key, lines.error());
      if (auto read = ReadRows(*lines, on_row); !read) return While(object.key, read.error());
    }
    next = page.next;
  } while (!next.empty());
  return {};
}

std::string FolderOf(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url.ends_with("/ledger") ? url + "/" : url + "/ledger/";
}

void PrintHistory(const Console& console, const Surroundings& around, const JobCounts& job,
                  const HistorySums& sums) {
  const auto line = [&](const std::string& name, const std::string& text) {
    console.Line(Clip("  " + name + std::string(11 - name.size(), ' ') + text, console.columns));
  };
  const std::int64_t now = around.now_ms();
  const Counts& counts = job.counts;
  const bool over = job.job.state == JobState::kFinished || job.job.state == JobState::kCancelled;
  console.Line(console.Painted(Colour::kBold, PublicId(job.job)) + " " +
               std::string(JobStateName(job.job.state)) +
               (over ? "" : ", when it was last written"));
  line("items", Thousands(counts.total) + "   succeeded " +
                    Thousands(over ? counts.succeeded : sums.succeeded) + "   failed " +
                    Thousands(over ? counts.failed : sums.failed));
  line("attempts", Thousands(sums.attempts));
  line("submitted", ClockText(job.job.created_ms, now, around.zone_s));
  if (sums.first_ms > 0) {
    line("ran", ClockText(sums.first_ms, now, around.zone_s) + " to " +
                    ClockText(sums.last_ms, now, around.zone_s) + ", " +
                    DurationText(sums.last_ms - sums.first_ms) + "; cpu " +
                    DurationText(sums.cpu_ms));
  }
  const FailureSummary failures = sums.failures.Finish();
  if (failures.failed > 0) PrintFailures(console, failures, "");
}

int Tell(const Console& console, const std::string& url, const Error& error) {
  console.ErrLine("cannot read " + url + ": " + error.reason);
  if (error.code == Code::kNotFound) {
    console.ErrLine("Is it the folder of a job, as s3://BUCKET/PREFIX/jobs/PROJECT/render-7 ?");
    return kNoSuchThing;
  }
  const bool forbidden = error.code == Code::kForbidden || error.code == Code::kNobody;
  return forbidden ? kNotAllowed : error.code == Code::kInvalid ? kWrongUse : kFailed;
}

}  // namespace

void HistorySums::Add(const OutcomeRow& row) {
  const Outcome& outcome = row.outcome;
  ++attempts;
  cpu_ms += outcome.cpu_ms;
  if (outcome.start_ms > 0) {
    if (first_ms == 0 || outcome.start_ms < first_ms) first_ms = outcome.start_ms;
    last_ms = std::max(last_ms, outcome.start_ms + outcome.duration_ms);
  }
  if (!row.last) return;
  if (outcome.cause == Cause::kSucceeded) {
    ++succeeded;
    return;
  }
  ++failed;
  failures.Add(outcome);
}

Result<void> ReadRows(std::string_view lines,
                      const std::function<Result<void>(OutcomeRow&&)>& on_row) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    TIDEMILL_TRY(OutcomeRow row, ParseOutcomeRow(lines.substr(0, end)));
    TIDEMILL_TRY_VOID(on_row(std::move(row)));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return {};
}

std::string HistoryJson(const std::string& job_json, const HistorySums& sums) {
  return FormatHistory({.job = job_json,
                        .attempts = sums.attempts,
                        .succeeded = sums.succeeded,
                        .failed = sums.failed,
                        .first_ms = sums.first_ms,
                        .last_ms = sums.last_ms,
                        .cpu_ms = sums.cpu_ms,
                        .failures = FormatFailures(sums.failures.Finish())});
}

int OpenHistory(AsioLoop& loop, ObjectStores& objects, const Console& console,
                const Surroundings& around, const HistoryFlags& flags) {
  const std::string url = FolderOf(flags.url);
  const auto place = objects.Find(url);
  if (!place) return Tell(console, url, place.error());
  Ledger ledger(loop, *place->store, place->key);
  auto body = ledger.Get("job.json");
  if (!body && body.error().code == Code::kNotFound) {
    if (const auto found = ledger.FindId(); !found) return Tell(console, url, found.error());
    body = ledger.Get("job.json");
  }
  if (!body) return Tell(console, url, body.error());
  const auto job = ParseJobCounts(*body);
  if (!job) return Tell(console, url + "job.json", job.error());
  std::optional<RowFile> file;
  if (!flags.out.empty()) {
    auto opened = RowFile::Open(flags.out);
    if (!opened) {
      console.ErrLine(opened.error().reason);
      return opened.error().code == Code::kInvalid ? kWrongUse : kFailed;
    }
    file.emplace(*std::move(opened));
  }
  HistorySums sums;
  RowProgress progress(console);
  const auto read = ReadOutcomes(ledger, [&](OutcomeRow&& row) -> Result<void> {
    sums.Add(row);
    progress.Show(sums.attempts, around.now_ms());
    return file ? file->Add(row) : Result<void>();
  });
  progress.Clear();
  if (!read) return Tell(console, url, read.error());
  if (file) {
    if (const auto finished = file->Finish(); !finished) {
      console.ErrLine(finished.error().reason);
      return kFailed;
    }
  }
  if (flags.out == "-") return kDone;
  if (console.json) {
    console.Line(HistoryJson(*body, sums));
  } else {
    PrintHistory(console, around, *job, sums);
  }
  return kDone;
}

}  // namespace tidemill::cli
