// SPDX-License-Identifier: Apache-2.0
#include "server/attempts.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/chunk_walk.h"
#include "server/outcomes.h"
#include "submit/cut.h"

namespace tidemill {
namespace {

// Of a page; one row has at most 64 KiB of item and 4 KiB of result.
constexpr std::size_t kAttemptsPageBytes = 4 << 20;
// Chunks without any attempt are passed over by the thousand; those with some are unpacked.
constexpr int kAttemptHistoriesAtOnce = 64;

class AttemptPageMaker {
 public:
  AttemptPageMaker(Store& store, const AttemptsRequest& request)
      : store_(store), request_(request) {}

  Result<OutcomePage> Make() {
    TIDEMILL_TRY_VOID(store_.FindJob(request_.job));
    TIDEMILL_TRY_VOID(ForEachChunk(store_, {.job = request_.job, .from = request_.after.chunk},
                                   [this](const Chunk& chunk) { return Add(chunk); }));
    return std::move(page_);
  }

 private:
  // False when the page is full.
  Result<bool> Add(const Chunk& chunk) {
    if (histories_++ == kAttemptHistoriesAtOnce) {
      page_.next = OutcomePlace{.chunk = chunk.key.chunk};
      return false;
    }
    const auto history = store_.FindHistory(chunk.key);
    if (WasPacked(history)) return true;
    if (!history) return tl::unexpected(history.error());
    std::vector<BelievedRows::Row> rows = RowsOf(*history);
    std::vector<std::string> texts;
    bool have_texts = false;
    for (BelievedRows::Row& row : rows) {
      if (IsPassed(chunk, row.outcome)) continue;
      const bool full =
          static_cast<int>(page_.rows.size()) >= request_.limit || bytes_ >= kAttemptsPageBytes;
      // An attempt that was interrupted has the number of the next one: they stay together.
      if (full && !IsLast(row.outcome)) {
        page_.next = PlaceBefore(chunk);
        return false;
      }
      if (!std::exchange(have_texts, true)) {
        auto read = TextsOf(chunk);
        if (WasPacked(read)) return true;
        TIDEMILL_TRY(texts, std::move(read));
      }
      const auto offset = static_cast<std::size_t>(row.outcome.item - chunk.first_item);
      Push(chunk, std::move(row), offset < texts.size() ? texts[offset] : std::string());
    }
    return true;
  }

  bool IsPassed(const Chunk& chunk, const Outcome& row) const {
    const OutcomePlace& after = request_.after;
    return chunk.key.chunk == after.chunk && std::tie(row.item, row.round, row.attempt) <=
                                                 std::tie(after.item, after.round, after.attempt);
  }

  bool IsLast(const Outcome& row) const {
    return last_ && std::tie(last_->item, last_->round, last_->attempt) ==
                        std::tie(row.item, row.round, row.attempt);
  }

  Result<std::vector<std::string>> TextsOf(const Chunk& chunk) {
    TIDEMILL_TRY(const ChunkItems packed, store_.FindItems(chunk.key));
    if (packed.body.empty()) return std::vector<std::string>();
    return UnpackItems(packed.body, packed.length);
  }

  void Push(const Chunk& chunk, BelievedRows::Row&& row, std::string text) {
    constexpr std::size_t kRest = 300;  // of a row as JSON
    last_ = {chunk.key.chunk, row.outcome.item, row.outcome.round, row.outcome.attempt};
    bytes_ += kRest + text.size() + row.outcome.result.size();
    page_.rows.push_back({std::move(row.outcome), std::move(text), row.ended});
  }

  // Behind the last row, or at the beginning of a chunk of which there is none.
  OutcomePlace PlaceBefore(const Chunk& chunk) const {
    return last_ && last_->chunk == chunk.key.chunk ? *last_
                                                    : OutcomePlace{.chunk = chunk.key.chunk};
  }

  Store& store_;
  const AttemptsRequest& request_;
  OutcomePage page_;
  std::optional<OutcomePlace> last_;
  std::size_t bytes_ = 0;
  int histories_ = 0;
};

}  // namespace

Result<OutcomePage> ListAttempts(Store& store, const AttemptsRequest& request) {
  return AttemptPageMaker(store, request).Make();
}

}  // namespace tidemill
