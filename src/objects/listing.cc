// SPDX-License-Identifier: Apache-2.0
#include "objects/listing.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

std::size_t SizeOf(const std::vector<ListedObject>& objects) {
  std::size_t size = 0;
  for (const auto& [key, tag] : objects) size += sizeof(ListedObject) + key.size() + tag.size();
  return size;
}

}  // namespace

Listing::Listing(Loop& loop, ObjectStore& store, Options options)
    : loop_(loop), store_(store), options_(std::move(options)) {
  for (const std::string& prefix : options_.prefixes) {
    pieces_.push_back(std::make_shared<Piece>(Piece{.prefix = prefix, .level = prefix}));
  }
}
Listing::~Listing() = default;

void Listing::Next(ObjectStore::Done<std::vector<ListedObject>> done) {
  done_ = std::move(done);
  loop_.After(Duration::zero(), [this, gone = std::weak_ptr<char>(alive_)] {
    if (!gone.expired()) Pump();
  });
}

void Listing::Pump() {
  if (!failed_) {
    for (std::size_t i = 0; i < pieces_.size() && under_way_ < kCallsAtOnce; ++i) {
      const PiecePtr& piece = pieces_[i];
      if (piece->asking || piece->ended || (i > 0 && held_ >= options_.held_bytes)) continue;
      Ask(piece);
    }
    for (std::size_t i = 0; i < pieces_.size() && under_way_ < kCallsAtOnce; ++i) {
      const PiecePtr piece = pieces_[i];
      if (looks_ >= kLooks || held_ >= options_.held_bytes) break;
      if (piece->ended || piece->looking || piece->has_no_folders) continue;
      if (piece->pages_got >= kPagesBeforeLook) Look(piece);
    }
  }
  Give();
}

void Listing::Ask(const PiecePtr& piece) {
  piece->asking = true;
  ++under_way_;
  ++calls_;
  store_.List(
      {.prefix = piece->prefix, .after = piece->after, .next = piece->next, .most = options_.page},
      [this, gone = std::weak_ptr<char>(alive_), piece](Result<ListPage> page) {
        if (gone.expired()) return;
        piece->asking = false;
        --under_way_;
        if (!page) {
          failed_ = page.error();
        } else if (const auto taken = Take(*piece, *std::move(page)); !taken) {
          failed_ = taken.error();
        }
        Pump();
      });
}

Result<void> Listing::Take(Piece& piece, ListPage page) {
  ++piece.pages_got;
  piece.next = std::move(page.next);
  piece.ended = piece.next.empty();
  std::vector<ListedObject> wanted;
  for (ObjectInfo& object : page.objects) {
    if (piece.end && object.key > *piece.end) {
      piece.ended = true;
      break;
    }
    if (object.key <= piece.last && !piece.last.empty()) {
      return Fail(Code::kInvalid, "the store lists its keys in no order");
    }
    piece.last = object.key;
    ++seen_;
    if (options_.wants && !options_.wants(object.key)) continue;
    wanted.push_back({std::move(object.key), options_.tags ? std::move(object.tag) : ""});
  }
  if (wanted.empty()) return {};
  held_ += SizeOf(wanted);
  piece.pages.push_back(std::move(wanted));
  return {};
}

void Listing::Look(const PiecePtr& piece) {
  piece->looking = true;
  ++looks_;
  ++under_way_;
  ++calls_;
  store_.List({.prefix = piece->level, .delimiter = "/", .after = piece->last},
              [this, gone = std::weak_ptr<char>(alive_), piece](const Result<ListPage>& folders) {
                if (gone.expired()) return;
                piece->looking = false;
                --under_way_;
                // A store that cannot fold is listed from its beginning to its end.
                piece->has_no_folders = !folders;
                if (folders && !piece->ended) Cut(piece, *folders);
                Pump();
              });
}

void Listing::Cut(const PiecePtr& piece, const ListPage& folders) {
  // Without its slash, a folder's name is before all that is in it, and any names that are in order
  // cut the keys into pieces that are.
  std::vector<std::string> cuts;
  for (const std::string& folder : folders.prefixes) {
    std::string cut = folder.substr(0, folder.size() - 1);
    if (cut > piece->last && (!piece->end || cut < *piece->end)) cuts.push_back(std::move(cut));
  }
  std::sort(cuts.begin(), cuts.end());
  if (cuts.empty()) {
    // The rest may be in one folder: one level deeper then.
    const std::size_t slash = piece->last.find('/', piece->level.size());
    piece->has_no_folders = slash == std::string::npos;
    if (!piece->has_no_folders) piece->level = piece->last.substr(0, slash + 1);
    return;
  }
  const std::size_t step = (cuts.size() + kPiecesPerLook - 1) / kPiecesPerLook;
  auto at = std::find(pieces_.begin(), pieces_.end(), piece) + 1;
  std::optional<std::string> end = std::exchange(piece->end, cuts.front());
  for (std::size_t i = 0; i < cuts.size(); i += step) {
    Piece made{.prefix = piece->prefix, .after = cuts[i], .last = cuts[i], .level = piece->level};
    made.end = i + step < cuts.size() ? std::optional(cuts[i + step]) : end;
    at = pieces_.insert(at, std::make_shared<Piece>(std::move(made))) + 1;
  }
}

void Listing::Give() {
  if (!done_) return;
  while (!failed_ && !pieces_.empty() && pieces_.front()->pages.empty() && pieces_.front()->ended) {
    pieces_.pop_front();
  }
  if (failed_) return std::exchange(done_, nullptr)(tl::unexpected<Error>(*failed_));
  if (pieces_.empty()) return std::exchange(done_, nullptr)(std::vector<ListedObject>());
  Piece& first = *pieces_.front();
  if (first.pages.empty()) {
    // What is first may always be listed, also if it became so just now.
    if (!first.asking) Ask(pieces_.front());
    return;
  }
  std::vector<ListedObject> objects = std::move(first.pages.front());
  first.pages.pop_front();
  held_ -= SizeOf(objects);
  std::exchange(done_, nullptr)(std::move(objects));
}

}  // namespace tidemill
