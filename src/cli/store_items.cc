// SPDX-License-Identifier: Apache-2.0
#include "cli/store_items.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "cli/format.h"
#include "objects/listing.h"
#include "submit/glob.h"

namespace tidemill::cli {
namespace {

constexpr std::chrono::milliseconds kProgressEvery{200};
// What Download fetches at once anyway.
constexpr std::int64_t kObjectBytes = 32 << 20;
// A folder is read anew for each page, and files are near.
constexpr int kFilesPerPage = 50'000;

// Gives what `next` makes, piece by piece; an empty piece is the end.
ByteRead ReadPieces(std::function<Result<std::string>()> next) {
  struct State {
    std::function<Result<std::string>()> next;
    std::string piece;
    std::size_t at = 0;
    bool ended = false;
  };
  const auto state = std::make_shared<State>(State{.next = std::move(next), .piece = {}});
  return [state](char* to, std::size_t size) -> Result<std::size_t> {
    if (state->at == state->piece.size() && !state->ended) {
      TIDEMILL_TRY(state->piece, state->next());
      state->at = 0;
      state->ended = state->piece.empty();
    }
    const std::size_t some = std::min(size, state->piece.size() - state->at);
    std::memcpy(to, state->piece.data() + state->at, some);
    state->at += some;
    return some;
  };
}

class Lister {
 public:
  Lister(Stores& stores, const ObjectStores::Place& place, Glob glob, std::string pattern,
         std::function<void(const ListState&)> progress)
      : stores_(stores),
        pattern_(std::move(pattern)),
        root_(pattern_.substr(0, pattern_.size() - place.key.size())),
        glob_(std::move(glob)),
        progress_(std::move(progress)),
        began_(stores.loop().Now()),
        listing_(stores.loop(), *place.store,
                 {.prefixes = glob_.Prefixes(),
                  .wants = [this](const std::string& key) { return glob_.Matches(key); },
                  .page = root_.starts_with("file:") ? kFilesPerPage : 1000}) {
    Tick();
  }
  ~Lister() { stores_.loop().Cancel(timer_); }
  Lister(const Lister&) = delete;
  Lister& operator=(const Lister&) = delete;

  Result<std::string> Next() {
    auto objects = stores_.Await<std::vector<ListedObject>>(
        [this](auto done) { listing_.Next(std::move(done)); });
    if (!objects) return tl::unexpected<Error>(objects.error());
    std::string lines;
    for (const auto& [key, tag] : *objects) {
      if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c < ' '; })) {
        return Fail(Code::kInvalid, "the key '" + Printable(key) +
                                        "' has control characters and cannot be an item; write a "
                                        "pattern that leaves it out");
      }
      lines.append(root_).append(key).push_back('\n');
    }
    state_->matched += static_cast<std::int64_t>(objects->size());
    state_->ended = objects->empty();
    Note();
    if (state_->ended && state_->matched == 0) {
      return Fail(Code::kNotFound, "nothing matches " + pattern_ + " (" +
                                       CountOf(state_->seen, "object") + " looked at)");
    }
    return lines;
  }
  std::shared_ptr<const ListState> state() const { return state_; }

 private:
  void Tick() {
    timer_ = stores_.loop().After(kProgressEvery, [this] {
      if (state_->ended) return;
      Note();
      Tick();
    });
  }
  void Note() {
    state_->seen = listing_.seen();
    state_->took_ms = (stores_.loop().Now() - began_) / std::chrono::milliseconds(1);
    if (progress_) progress_(*state_);
  }

  Stores& stores_;
  const std::string pattern_;
  const std::string root_;  // "s3://bucket/"
  const Glob glob_;
  const std::function<void(const ListState&)> progress_;
  const TimePoint began_;
  const std::shared_ptr<ListState> state_ = std::make_shared<ListState>();
  TimerId timer_ = TimerId::kNone;
  Listing listing_;
};

// One object, some MiB at a time, so that no more than these are held.
class ObjectReader {
 public:
  ObjectReader(Stores& stores, ObjectStores::Place place, ObjectInfo info)
      : stores_(stores), place_(std::move(place)), info_(std::move(info)) {}

  Result<std::string> Next() {
    const std::int64_t size = std::min(kObjectBytes, info_.size_bytes - offset_);
    if (size <= 0) return std::string();
    std::string text;
    const auto on_piece = [&text](std::string_view piece) -> Result<void> {
      text += piece;
      return {};
    };
    TIDEMILL_TRY(const ObjectInfo info, stores_.Await<ObjectInfo>([&](auto done) {
      place_.store->Get(place_.key, {offset_, size}, on_piece, std::move(done));
    }));
    if (info.tag != info_.tag || text.size() != static_cast<std::size_t>(size)) {
      return Fail(Code::kConflict, "it changed while it was read");
    }
    offset_ += size;
    return text;
  }

 private:
  Stores& stores_;
  const ObjectStores::Place place_;
  const ObjectInfo info_;
  std::int64_t offset_ = 0;
};

}  // namespace

Result<ListedItems> ListStore(Stores& stores, const std::string& pattern,
                              std::function<void(const ListState&)> progress) {
  TIDEMILL_TRY(const ObjectStores::Place place, stores.Find(pattern));
  auto glob = Glob::Parse(place.key);
  if (!glob) return While(pattern, glob.error());
  const auto lister =
      std::make_shared<Lister>(stores, place, *std::move(glob), pattern, std::move(progress));
  return ListedItems{ReadPieces([lister] { return lister->Next(); }), lister->state()};
}

Result<ByteRead> ReadStoreObject(Stores& stores, const std::string& url) {
  TIDEMILL_TRY(ObjectStores::Place place, stores.Find(url));
  if (place.key.empty() || place.key.ends_with('/')) {
    return Fail(Code::kInvalid, url + " is no object; for all that is below it, write '" +
                                    (url.ends_with('/') ? url : url + "/") + "**'");
  }
  TIDEMILL_TRY(ObjectInfo info, stores.Await<ObjectInfo>([&](auto done) {
    place.store->Head(place.key, std::move(done));
  }));
  const auto reader = std::make_shared<ObjectReader>(stores, std::move(place), std::move(info));
  return ReadPieces([reader] { return reader->Next(); });
}

}  // namespace tidemill::cli
