// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/writer.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tidemill {

// A batch on its way.
struct LedgerWriter::Round {
  LedgerBatch batch;
  std::vector<bool> failed;   // by task: a file of it is not there
  std::size_t under_way = 1;  // files, and one until all are begun
  std::optional<Error> error;
};

LedgerWriter::LedgerWriter(ServerDeps deps, LedgerStore& ledger, ObjectStores& objects,
                           Options options)
    : deps_(deps), ledger_(ledger), objects_(objects), options_(std::move(options)) {}

LedgerWriter::~LedgerWriter() { deps_.loop.Cancel(timer_); }

void LedgerWriter::Again(Duration delay) {
  if (stopped_) return;
  timer_ = deps_.loop.After(delay, [this] {
    timer_ = TimerId::kNone;
    if (!stopped_) Begin();
  });
}

void LedgerWriter::Begin() {
  OnStore(
      deps_,
      [&ledger = ledger_, url = options_.objects, after = after_](Store& store) {
        return MakeLedgerBatch(store, ledger, url, after);
      },
      [this, alive = std::weak_ptr<char>(alive_)](Result<LedgerBatch> batch) {
        if (alive.expired()) return;
        if (!batch) return Failed(batch.error());
        auto round = std::make_shared<Round>();
        round->batch = *std::move(batch);
        round->failed.resize(round->batch.tasks.size());
        Put(round);
      });
}

void LedgerWriter::Put(const std::shared_ptr<Round>& round) {
  const std::vector<LedgerTask>& tasks = round->batch.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const LedgerFile& file : tasks[i].files) PutFile(round, i, file);
  }
  if (--round->under_way == 0) Mark(round);
}

void LedgerWriter::PutFile(const std::shared_ptr<Round>& round, std::size_t task,
                           const LedgerFile& file) {
  const auto done = [this, alive = std::weak_ptr<char>(alive_), round,
                     task](const Result<void>& put) {
    if (alive.expired()) return;
    if (!put) {
      round->failed[task] = true;
      round->error = put.error();
    }
    if (--round->under_way == 0) Mark(round);
  };
  ++round->under_way;
  const auto place = objects_.Find(file.url);
  if (!place) return done(tl::unexpected(place.error()));
  PutOptions options;
  options.content_type = file.url.ends_with(".json") ? "application/json" : "application/zstd";
  place->store->Put(place->key, BodyOf(file.bytes), options, done);
}

void LedgerWriter::Mark(const std::shared_ptr<Round>& round) {
  if (round->batch.tasks.empty()) {
    after_ = round->batch.last_job;
    return End(false);
  }
  OnStore(
      deps_,
      [&ledger = ledger_, round](Store&) -> Result<void> {
        for (std::size_t i = 0; i < round->batch.tasks.size(); ++i) {
          if (!round->failed[i]) TIDEMILL_TRY_VOID(round->batch.tasks[i].mark(ledger));
        }
        return {};
      },
      [this, round, alive = std::weak_ptr<char>(alive_)](const Result<void>& marked) {
        if (alive.expired()) return;
        after_ = round->batch.last_job;
        if (!marked) return Failed(marked.error());
        if (round->error) return Failed(*round->error);
        End(true);
      });
}

void LedgerWriter::End(bool did_something) {
  pause_ = Duration::zero();
  // Jobs behind those that were looked at may be due, too.
  const bool more = did_something || after_.number != 0;
  Again(more ? Duration::zero() : options_.every);
}

void LedgerWriter::Failed(const Error& error) {
  deps_.log.Warn("ledger.not_written", {{"reason", error.reason}});
  pause_ = std::clamp(pause_ * 2, options_.every, options_.longest_pause);
  Again(pause_);
}

}  // namespace tidemill
