// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/batch.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "model/outcome_page.h"
#include "model/places.h"
#include "server/outcomes.h"
#include "submit/cut.h"
#include "wire/item_json.h"
#include "wire/job_json.h"
#include "wire/outcome_json.h"

namespace tidemill {
namespace {

// Files of a batch: each is unpacked in memory while it is made, and all are put at once.
constexpr int kStatsAtOnce = 8;
constexpr int kJobsAtOnce = 4;
constexpr std::int32_t kChunksAtOnce = 4;

std::string LedgerPlace(const std::string& objects, const Job& job) {
  return JobPlace(objects, job) + "ledger/";
}

// Of eight digits, so that names are in the order of chunks.
std::string ChunkName(std::int32_t chunk) {
  char text[16];
  std::snprintf(text, sizeof(text), "%08d", chunk);
  return text;
}

Result<std::vector<std::string>> TextsOf(const ChunkItems& packed) {
  if (packed.body.empty()) return std::vector<std::string>(static_cast<std::size_t>(packed.length));
  return UnpackItems(packed.body, packed.length);
}

Result<std::string> ItemsFile(Store& store, ChunkKey key) {
  TIDEMILL_TRY(const ChunkItems packed, store.FindItems(key));
  TIDEMILL_TRY(const std::vector<std::string> texts, TextsOf(packed));
  std::string lines;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    AppendItemLine(lines, packed.first_item + static_cast<std::int64_t>(i), texts[i]);
  }
  return Compress(lines);
}

Result<std::string> OutcomesFile(Store& store, const ChunkStat& stat) {
  TIDEMILL_TRY(const ChunkItems packed, store.FindItems(stat.chunk));
  TIDEMILL_TRY(const std::vector<std::string> texts, TextsOf(packed));
  const ChunkHistory history{packed.first_item, {}, {stat}};
  std::string lines;
  for (BelievedRows::Row& row : RowsOf(history)) {
    const auto offset = static_cast<std::size_t>(row.outcome.item - packed.first_item);
    if (offset >= texts.size()) continue;  // no block of ours has such a row
    AppendOutcomeRow(lines, {std::move(row.outcome), texts[offset], row.ended});
    lines.push_back('\n');
  }
  return Compress(lines);
}

// Another server has written it, and packed it away since it was listed here.
bool IsPacked(const Result<std::string>& bytes) {
  return !bytes && bytes.error().code == Code::kNotFound;
}

class BatchMaker {
 public:
  BatchMaker(Store& store, LedgerStore& ledger, const std::string& objects)
      : store_(store), ledger_(ledger), objects_(objects) {}

  Result<LedgerBatch> Make(JobId after) {
    TIDEMILL_TRY(const std::vector<ChunkStat> stats, ledger_.ListLedgerStats(kStatsAtOnce));
    for (const ChunkStat& stat : stats) TIDEMILL_TRY_VOID(AddStat(stat));
    TIDEMILL_TRY(const std::vector<LedgerJob> due, ledger_.ListLedgerJobs(after, kJobsAtOnce));
    for (const LedgerJob& job : due) TIDEMILL_TRY_VOID(AddJob(job));
    if (static_cast<int>(due.size()) == kJobsAtOnce) batch_.last_job = due.back().job.id;
    return std::move(batch_);
  }

 private:
  Result<void> AddStat(const ChunkStat& stat) {
    if (!places_.contains(stat.chunk.job)) {
      TIDEMILL_TRY(const Job job, store_.FindJob(stat.chunk.job));
      places_[stat.chunk.job] = LedgerPlace(objects_, job);
    }
    const std::string url = places_[stat.chunk.job] + "outcomes/" + ChunkName(stat.chunk.chunk) +
                            "-" + std::to_string(stat.round) + ".jsonl.zst";
    auto bytes = OutcomesFile(store_, stat);
    if (IsPacked(bytes)) return {};
    TIDEMILL_TRY_VOID(bytes);
    LedgerTask task;
    task.files.push_back({url, *std::move(bytes)});
    task.mark = [stat](LedgerStore& ledger) { return ledger.MarkLedgerStat(stat); };
    batch_.tasks.push_back(std::move(task));
    return {};
  }

  Result<void> AddJob(const LedgerJob& due) {
    return due.chunks_written < due.job.chunks ? AddItems(due) : AddState(due);
  }

  Result<void> AddItems(const LedgerJob& due) {
    const std::string place = LedgerPlace(objects_, due.job);
    LedgerTask task;
    const std::int32_t end = std::min(due.job.chunks, due.chunks_written + kChunksAtOnce);
    for (std::int32_t chunk = due.chunks_written; chunk < end; ++chunk) {
      auto bytes = ItemsFile(store_, {due.job.id, chunk});
      if (IsPacked(bytes)) continue;
      TIDEMILL_TRY_VOID(bytes);
      task.files.push_back({place + "items/" + ChunkName(chunk) + ".jsonl.zst", *std::move(bytes)});
    }
    task.mark = [id = due.job.id, end](LedgerStore& ledger) {
      return ledger.MarkLedgerItems(id, end);
    };
    batch_.tasks.push_back(std::move(task));
    return {};
  }

  // That a job is over is the last thing that is said of it: who reads so finds all else.
  Result<void> AddState(const LedgerJob& due) {
    TIDEMILL_TRY(const JobCounts counted, store_.CountItems(due.job.id));
    const JobState state = counted.job.state;
    const bool over = state == JobState::kFinished || state == JobState::kCancelled;
    const bool as_listed = state == due.job.state && counted.job.round == due.job.round;
    if (over && !(due.settled && as_listed)) return {};
    const std::string place = LedgerPlace(objects_, due.job);
    LedgerTask task;
    if (!due.begun) task.files.push_back({place + "spec.json", due.job.spec.document});
    task.files.push_back({place + "job.json", FormatJobCounts(counted)});
    task.mark = [id = due.job.id, state, round = counted.job.round](LedgerStore& ledger) {
      return ledger.MarkLedgerState(id, state, round);
    };
    batch_.tasks.push_back(std::move(task));
    return {};
  }

  Store& store_;
  LedgerStore& ledger_;
  const std::string& objects_;
  std::map<JobId, std::string> places_;
  LedgerBatch batch_;
};

}  // namespace

Result<LedgerBatch> MakeLedgerBatch(Store& store, LedgerStore& ledger, const std::string& objects,
                                    JobId after) {
  return BatchMaker(store, ledger, objects).Make(after);
}

}  // namespace tidemill
