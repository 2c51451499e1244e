// SPDX-License-Identifier: Apache-2.0
#include "logs/shelf/item_log.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace tidemill {
namespace {

// What is looked at for the last lines: a log may be one endless line.
constexpr std::uint64_t kTailBytesMost = 8 << 20;

// Where some parts of the attempt are.
struct Stretch {
  PackRef pack = {};
  PackFrame frame = {};
  std::uint64_t parts = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first = 0;   // how many parts are before it
  bool lost_before = false;  // it is the first of an agent's life, and not of all
};

// What a pack has of the item.
struct Found {
  PackRef pack;
  Packs::Table table;
  PackEntry entry;
};

class Reading : public std::enable_shared_from_this<Reading> {
 public:
  Reading(Packs& packs, const ItemLogAsk& ask, std::function<void(Result<ItemLogPage>)> done)
      : packs_(packs), ask_(ask), done_(std::move(done)) {}

  void Start() {
    if (ask_.last_pack.empty()) return Scan("");
    // The pack with the end may have all of it.
    List(ask_.last_pack, [self = shared_from_this()] {
      const bool whole = std::any_of(self->found_.begin(), self->found_.end(), [&](const Found& f) {
        return self->IsWanted(f.entry.who) && f.entry.begins;
      });
      if (whole) return self->Choose();
      self->page_.awaited = self->found_.empty();
      const std::string session =
          self->ask_.last_pack.substr(0, self->ask_.last_pack.find('/') + 1);
      self->found_.clear();
      self->Scan(session);
    });
  }

 private:
  void Scan(const std::string& begin) {
    List(begin, [self = shared_from_this()] { self->Choose(); });
  }

  void Fail(const Error& error) {
    if (auto done = std::exchange(done_, nullptr)) done(tl::unexpected(error));
  }

  // Collects what packs with such names have of the item, then calls `then`.
  void List(const std::string& begin, std::function<void()> then) {
    packs_.ListAll(
        ask_.place, begin,
        [self = shared_from_this(), then = std::move(then)](Result<std::vector<PackRef>> listed) {
          if (!listed) return self->Fail(listed.error());
          self->left_ = listed->size();
          if (self->left_ == 0) return then();
          for (const PackRef& pack : *listed) self->Look(pack, then);
        });
  }

  void Look(const PackRef& pack, const std::function<void()>& then) {
    packs_.GetTable(
        pack, cost_, [self = shared_from_this(), pack, then](const Result<Packs::Table>& table) {
          if (!table && table.error().code != Code::kInvalid) return self->Fail(table.error());
          if (!table || !(*table)->MayHave(self->ask_.item)) return self->Looked(then);
          self->packs_.GetDirectory(
              pack, self->cost_,
              [self, pack, table = *table, then](const Result<Packs::Directory>& directory) {
                if (!directory && directory.error().code != Code::kInvalid) {
                  return self->Fail(directory.error());
                }
                if (directory) self->Take(pack, table, **directory);
                self->Looked(then);
              });
        });
  }

  void Looked(const std::function<void()>& then) {
    if (--left_ == 0 && done_) then();
  }

  void Take(const PackRef& pack, const Packs::Table& table, const std::vector<PackEntry>& entries) {
    auto entry = std::lower_bound(
        entries.begin(), entries.end(), ask_.item,
        [](const PackEntry& one, std::int64_t item) { return one.who.item < item; });
    for (; entry != entries.end() && entry->who.item == ask_.item; ++entry) {
      found_.push_back({pack, table, *entry});
    }
  }

  bool IsWanted(const LogAttempt& who) const {
    return (!ask_.round || who.round == *ask_.round) &&
           (!ask_.attempt || who.attempt == *ask_.attempt);
  }

  // Which attempt is shown, and where its parts are.
  void Choose() {
    std::optional<LogAttempt> chosen;
    for (const Found& one : found_) {
      if (IsWanted(one.entry.who) && (!chosen || *chosen < one.entry.who)) chosen = one.entry.who;
    }
    if (!chosen) return Finish();
    page_.found = true;
    page_.who = *chosen;
    std::erase_if(found_, [&](const Found& one) { return one.entry.who != *chosen; });
    // An attempt whose machine was lost is begun anew elsewhere under the same number.
    std::map<std::string, std::int64_t> begins;
    for (const Found& one : found_) {
      auto [at, fresh] = begins.try_emplace(one.pack.session, one.entry.time_ms);
      at->second = std::min(at->second, one.entry.time_ms);
    }
    std::sort(found_.begin(), found_.end(), [&](const Found& a, const Found& b) {
      return std::tuple(begins[a.pack.session], a.pack.session, a.pack.seq) <
             std::tuple(begins[b.pack.session], b.pack.session, b.pack.seq);
    });
    const Found* before = nullptr;
    for (const Found& one : found_) {
      bool lost = before != nullptr && !IsOneLife(before->pack, one.pack);
      for (const PackEntry::In& in : one.entry.frames) {
        if (in.frame >= one.table->frames.size()) continue;
        stretches_.push_back({one.pack, one.table->frames[in.frame], in.parts, in.bytes, parts_,
                              std::exchange(lost, false)});
        parts_ += in.parts;
      }
      before = &one;
    }
    page_.ended = before->entry.ends;
    if (!ask_.last_pack.empty()) page_.awaited = page_.awaited && !page_.ended;
    Pick();
  }

  // By all digits but the last six; see kPacksPerLife.
  static bool IsOneLife(const PackRef& a, const PackRef& b) {
    return a.session == b.session && a.seq.substr(0, 6) == b.seq.substr(0, 6);
  }

  // Which stretches this page is made of.
  void Pick() {
    if (ask_.tail) {
      std::uint64_t bytes = 0;
      std::size_t from = stretches_.size();
      // A line has a byte or more, so this may fetch too few; then the next one is fetched too.
      while (from > 0 && bytes < kTailBytesMost) bytes += stretches_[--from].bytes;
      first_ = from;
      return FetchTail(stretches_.size());
    }
    while (first_ < stretches_.size() &&
           stretches_[first_].first + stretches_[first_].parts <= ask_.after) {
      ++first_;
    }
    page_.next = ask_.after;
    FetchOn(first_);
  }

  // The parts of one stretch, in order.
  using Parts = std::shared_ptr<std::vector<ItemLogPart>>;
  void Fetch(const Stretch& stretch, std::function<void(Parts)> then) {
    auto parts = std::make_shared<std::vector<ItemLogPart>>();
    packs_.UseFrame(
        stretch.pack, stretch.frame, cost_,
        [parts, who = page_.who, lost = stretch.lost_before](const LogFrame& frame) {
          for (const LogFrame::Group& group : frame.groups) {
            if (group.who != who) continue;
            std::string_view text = frame.TextOf(group);
            for (std::size_t i = 0; i < group.parts; ++i) {
              const LogPart& part = frame.parts[group.first_part + i];
              const bool resumed = (part.flags & LogPart::kResumed) != 0;
              parts->push_back({.time_ms = part.time_ms,
                                .missing = part.missing,
                                .over_limit = (part.flags & LogPart::kLimit) != 0,
                                .lost_before = (lost && i == 0) || resumed,
                                .text = std::string(text.substr(0, part.size))});
              text.remove_prefix(part.size);
            }
          }
        },
        [self = shared_from_this(), parts, then = std::move(then)](const Result<void>& used) {
          if (!used) return self->Fail(used.error());
          then(parts);
        });
  }

  void FetchOn(std::size_t number) {
    if (number == stretches_.size()) return Finish();
    const Stretch& stretch = stretches_[number];
    Fetch(stretch, [self = shared_from_this(), number, first = stretch.first](const Parts& parts) {
      for (std::size_t i = 0; i < parts->size(); ++i) {
        if (first + i < self->page_.next) continue;
        if (self->bytes_ >= self->ask_.page_bytes) {
          self->page_.more = true;
          return self->Finish();
        }
        self->bytes_ += (*parts)[i].text.size();
        self->page_.parts.push_back(std::move((*parts)[i]));
        self->page_.next = first + i + 1;
      }
      self->FetchOn(number + 1);
    });
  }

  // From the end on, until there are enough lines.
  void FetchTail(std::size_t behind) {
    if (behind == first_) return CutTail();
    Fetch(stretches_[behind - 1], [self = shared_from_this(), behind](const Parts& parts) {
      for (const ItemLogPart& part : *parts) {
        self->lines_ +=
            static_cast<std::size_t>(std::count(part.text.begin(), part.text.end(), '\n'));
      }
      self->page_.parts.insert(self->page_.parts.begin(), std::move_iterator(parts->begin()),
                               std::move_iterator(parts->end()));
      if (self->lines_ > *self->ask_.tail) return self->CutTail();
      self->FetchTail(behind - 1);
    });
  }

  void CutTail() {
    std::string text;
    for (const ItemLogPart& part : page_.parts) text += part.text;
    std::size_t drop = text.size() - LastLines(text, *ask_.tail).size();
    auto part = page_.parts.begin();
    while (part != page_.parts.end() && drop > 0 && part->text.size() <= drop) {
      drop -= part->text.size();
      ++part;
    }
    page_.parts.erase(page_.parts.begin(), part);
    if (!page_.parts.empty() && drop > 0) {
      page_.parts.front().text.erase(0, drop);
      page_.parts.front().missing = 0;
      page_.parts.front().lost_before = false;
    }
    page_.next = parts_;
    Finish();
  }

  void Finish() {
    if (!done_) return;
    page_.ended = page_.ended && !page_.more;
    page_.fetched_bytes = cost_->fetched_bytes;
    std::exchange(done_, nullptr)(std::move(page_));
  }

  Packs& packs_;
  const ItemLogAsk ask_;
  std::function<void(Result<ItemLogPage>)> done_;
  const Packs::Cost cost_ = std::make_shared<LogCost>();
  std::size_t left_ = 0;  // packs to be looked at
  std::vector<Found> found_;
  std::vector<Stretch> stretches_;
  std::uint64_t parts_ = 0;
  std::size_t first_ = 0;
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;
  ItemLogPage page_;
};

}  // namespace

std::string_view LastLines(std::string_view text, std::size_t lines) {
  if (lines == 0) return {};
  // The end of the last line does not begin another.
  std::size_t at = text.size() - (text.ends_with('\n') ? 1 : 0);
  for (; lines > 0 && at != 0; --lines) {
    const std::size_t end = text.rfind('\n', at - 1);
    if (end == text.npos) return text;
    at = end;
    if (lines == 1) return text.substr(end + 1);
  }
  return text;
}

void ReadItemLog(Packs& packs, const ItemLogAsk& ask,
                 std::function<void(Result<ItemLogPage>)> done) {
  std::make_shared<Reading>(packs, ask, std::move(done))->Start();
}

}  // namespace tidemill
