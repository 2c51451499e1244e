// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "objects/object_store.h"

namespace tidemill {

// One of a listing.
struct ListedObject {
  std::string key = {};
  std::string tag = {};  // as ObjectInfo has it; empty unless it was asked for
  bool operator==(const ListedObject&) const = default;
};

// All keys below some prefixes, in the order of bytes, each once. A store gives a thousand keys a
// call and says with each answer where the next one begins; so what is long is cut where folders
// begin, and the pieces are listed at the same time. Loop thread only. Nothing survives a restart.
class Listing {
 public:
  static constexpr std::size_t kCallsAtOnce = 16;
  // What waits for its turn because an earlier piece is still being listed: some hundred thousand
  // keys. The first piece goes on whatever waits.
  static constexpr std::size_t kHeldBytes = 64 << 20;
  // Calls that only look for folders, and pieces that one of them makes: a few percent of the
  // others where a listing is long enough to need them.
  static constexpr int kLooks = 64;
  static constexpr std::size_t kPiecesPerLook = 64;
  // What is shorter has ended before a look could help.
  static constexpr int kPagesBeforeLook = 2;

  struct Options {
    std::vector<std::string> prefixes = {};              // in order; none begins with another
    std::function<bool(const std::string&)> wants = {};  // which keys are given; null: all
    bool tags = false;                                   // give them too: they take memory
    int page = 1000;                                     // what is asked for at once
    std::size_t held_bytes = kHeldBytes;
  };

  // All outlive it. A listing that is destroyed is not told of anything more.
  Listing(Loop& loop, ObjectStore& store, Options options);
  ~Listing();

  // Some keys, or none at the end. One call at a time; `done` never comes from inside it. An error
  // is the end. kInvalid: the store lists in no order.
  void Next(ObjectStore::Done<std::vector<ListedObject>> done);

  std::int64_t seen() const { return seen_; }  // keys that came, given or not
  std::int64_t calls() const { return calls_; }

 private:
  // The keys behind `after`, up to `end` and with it.
  struct Piece {
    std::string prefix = {};
    std::string after = {};
    std::optional<std::string> end = {};
    std::string next = {};   // what the store said of the next page
    std::string last = {};   // the last key that came; at first `after`
    std::string level = {};  // where folders are looked for; behind the prefix or deeper
    std::deque<std::vector<ListedObject>> pages = {};
    int pages_got = 0;
    bool asking = false;
    bool looking = false;
    bool has_no_folders = false;
    bool ended = false;
  };
  using PiecePtr = std::shared_ptr<Piece>;

  void Pump();
  void Ask(const PiecePtr& piece);
  Result<void> Take(Piece& piece, ListPage page);
  void Look(const PiecePtr& piece);
  void Cut(const PiecePtr& piece, const ListPage& folders);
  void Give();

  Loop& loop_;
  ObjectStore& store_;
  const Options options_;
  std::deque<PiecePtr> pieces_;  // in order; the first one gives the next keys
  std::size_t under_way_ = 0;
  std::size_t held_ = 0;
  int looks_ = 0;
  std::int64_t seen_ = 0;
  std::int64_t calls_ = 0;
  std::optional<Error> failed_;
  ObjectStore::Done<std::vector<ListedObject>> done_;  // null: nobody waits
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
