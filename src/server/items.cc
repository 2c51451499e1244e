// SPDX-License-Identifier: Apache-2.0
#include "server/items.h"

#include <string>
#include <utility>
#include <vector>

#include "server/chunk_walk.h"
#include "server/outcomes.h"
#include "submit/cut.h"

namespace tidemill {
namespace {

// Text of one page of items; a page that would have more ends early.
constexpr std::size_t kItemsPageBytes = 1 << 20;
// Chunks whose outcomes are unpacked for one page: each has up to some megabytes of them.
constexpr int kItemHistoriesAtOnce = 16;

class ItemPageMaker {
 public:
  ItemPageMaker(Store& store, const ItemsRequest& request) : store_(store), request_(request) {}

  Result<ItemPage> Make() {
    TIDEMILL_TRY_VOID(ForEachChunk(
        store_, {.job = request_.job, .from = request_.from.chunk, .state = request_.state},
        [this](const Chunk& chunk) { return Add(chunk); }));
    return std::move(page_);
  }

 private:
  // False when the page is full.
  Result<bool> Add(const Chunk& chunk) {
    const Bits wanted =
        request_.state ? ItemsIn(chunk, *request_.state) : Bits::All(chunk.length());
    const int from = chunk.key.chunk == request_.from.chunk ? request_.from.offset : 0;
    texts_.reset();
    outcomes_.reset();
    for (int i = wanted.FindFrom(from); i >= 0; i = wanted.FindFrom(i + 1)) {
      const bool no_history = request_.outcomes && !outcomes_ && histories_ == kItemHistoriesAtOnce;
      const bool full = static_cast<int>(page_.items.size()) == request_.limit;
      if (full || bytes_ >= kItemsPageBytes || no_history) {
        page_.next = ItemPlace{chunk.key.chunk, i};
        return false;
      }
      const Result<void> opened = Open(chunk);
      if (WasPacked(opened)) return true;
      TIDEMILL_TRY_VOID(opened);
      AddItem(chunk, i);
    }
    return true;
  }

  // Reads what a chunk's items need, once.
  Result<void> Open(const Chunk& chunk) {
    if (!texts_) {
      TIDEMILL_TRY(const ChunkItems packed, store_.FindItems(chunk.key));
      texts_.emplace();
      if (!packed.body.empty()) {
        TIDEMILL_TRY(texts_, UnpackItems(packed.body, packed.length));
      }
    }
    if (request_.outcomes && !outcomes_) {
      TIDEMILL_TRY(const ChunkHistory history, store_.FindHistory(chunk.key));
      outcomes_.emplace(history);
      ++histories_;
    }
    return {};
  }

  void AddItem(const Chunk& chunk, int offset) {
    ListedItem& item = page_.items.emplace_back();
    item.item = chunk.first_item + offset;
    item.state = StateOf(chunk, offset);
    if (!texts_->empty()) item.text = std::move((*texts_)[static_cast<std::size_t>(offset)]);
    bytes_ += item.text.size();
    const ChunkOutcomes::Known* known = outcomes_ ? outcomes_->Find(item.item) : nullptr;
    if (known == nullptr) return;
    item.attempts = known->attempts;
    item.outcome = known->newest;
  }

  Store& store_;
  const ItemsRequest& request_;
  ItemPage page_;
  std::size_t bytes_ = 0;
  int histories_ = 0;
  // Of the chunk that is being added.
  std::optional<std::vector<std::string>> texts_;
  std::optional<ChunkOutcomes> outcomes_;
};

}  // namespace

Result<ItemPage> ListItems(Store& store, const ItemsRequest& request) {
  return ItemPageMaker(store, request).Make();
}

}  // namespace tidemill
