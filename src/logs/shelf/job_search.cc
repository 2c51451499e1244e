// SPDX-License-Identifier: Apache-2.0
#include "logs/shelf/job_search.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <utility>

#include "base/bytes.h"

namespace tidemill {
namespace {

// So that somebody sees that it goes on, and nobody keeps a server busy with one call.
constexpr Duration kPageTime = std::chrono::seconds(3);
// Frames in memory at once; each is a few MiB unpacked. It begins with fewer: the first may have
// enough hits.
constexpr int kFramesAtOnce = 8;
constexpr int kFramesAtFirst = 1;
constexpr std::size_t kPacksAhead = 128;
constexpr std::size_t kPacksAtFirst = 8;

// Where a page ends: the listing's own word for where its page began, then the place in that.
struct Cursor {
  std::string listing = {};
  std::string pack = {};  // name; empty: the first
  std::uint64_t frame = 0;
  std::uint64_t line = 0;
};

std::string Format(const Cursor& cursor) {
  return EncodeBase64(cursor.pack + "\n" + std::to_string(cursor.frame) + "\n" +
                      std::to_string(cursor.line) + "\n" + cursor.listing);
}

std::optional<std::uint64_t> ReadNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Cursor> ParseCursor(const std::string& text) {
  const auto bytes = DecodeBase64(text);
  if (!bytes) return std::nullopt;
  std::string_view rest = *bytes;
  std::vector<std::string_view> fields;
  for (int i = 0; i < 3; ++i) {
    const std::size_t end = rest.find('\n');
    if (end == rest.npos) return std::nullopt;
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  const auto frame = ReadNumber(fields[1]);
  const auto line = ReadNumber(fields[2]);
  if (!frame || !line) return std::nullopt;
  return Cursor{std::string(rest), std::string(fields[0]), *frame, *line};
}

class Searching : public std::enable_shared_from_this<Searching> {
 public:
  Searching(Packs& packs, Loop& loop, const LogSearchAsk& ask,
            std::function<void(Result<LogSearchPage>)> done)
      : packs_(packs), loop_(loop), ask_(ask), done_(std::move(done)) {}

  void Start() {
    if (!ask_.cursor.empty()) {
      const auto cursor = ParseCursor(ask_.cursor);
      if (!cursor) return Stop(Error{Code::kInvalid, "cursor: must be that of the page before"});
      from_ = *cursor;
    }
    next_listing_ = from_.listing;
    Advance();
  }

 private:
  struct FrameWork {
    std::size_t number = 0;
    bool begun = false;
    bool done = false;
    bool damaged = false;
    FrameSearch found = {};
  };
  struct PackWork {
    PackRef pack;
    std::string listing;  // of the page that it was on
    Packs::Table table = {};
    bool ready = false;
    bool damaged = false;
    std::deque<FrameWork> frames = {};
  };
  using PackPtr = std::shared_ptr<PackWork>;

  void Stop(const Error& error) {
    if (auto done = std::exchange(done_, nullptr)) done(tl::unexpected(error));
  }

  void Finish(const std::string& cursor) {
    page_.cursor = cursor;
    page_.fetched_bytes = cost_->fetched_bytes;
    if (auto done = std::exchange(done_, nullptr)) done(std::move(page_));
  }

  // Does all that can be done now.
  void Advance() {
    if (!done_) return;
    Collect();
    if (!done_) return;
    if (works_.size() < ahead_) ListMore();
    int under_way = 0;
    for (const PackPtr& work : works_) {
      if (!work->ready) break;
      for (FrameWork& frame : work->frames) {
        if (frame.begun && !frame.done) ++under_way;
        if (frame.begun || under_way >= frames_) continue;
        ++under_way;
        Begin(work, frame);
      }
      if (under_way >= frames_) break;
    }
  }

  void ListMore() {
    while (works_.size() < ahead_ && !listed_.empty()) {
      works_.push_back(std::move(listed_.front()));
      listed_.pop_front();
      GetTable(works_.back());
    }
    if (works_.size() >= ahead_ || listing_ || all_listed_) return;
    listing_ = true;
    packs_.List(
        ask_.place, "", next_listing_,
        [self = shared_from_this(), at = next_listing_](Result<Packs::Page> page) {
          self->listing_ = false;
          if (!page) return self->Stop(page.error());
          for (PackRef& pack : page->packs) {
            if (pack.name() < self->from_.pack) continue;
            self->listed_.push_back(std::make_shared<PackWork>(PackWork{std::move(pack), at}));
          }
          self->next_listing_ = page->next;
          self->all_listed_ = page->next.empty();
          self->Advance();
        });
  }

  void GetTable(const PackPtr& work) {
    packs_.GetTable(work->pack, cost_,
                    [self = shared_from_this(), work](const Result<Packs::Table>& table) {
                      if (!table && table.error().code != Code::kInvalid) {
                        return self->Stop(table.error());
                      }
                      work->ready = true;
                      work->damaged = !table;
                      if (table) self->Choose(*work, *table);
                      self->Advance();
                    });
  }

  // Which frames must be fetched.
  void Choose(PackWork& work, const Packs::Table& table) {
    work.table = table;
    const bool resumes = work.pack.name() == from_.pack;
    for (std::size_t i = resumes ? from_.frame : 0; i < table->frames.size(); ++i) {
      const PackFrame& frame = table->frames[i];
      if (!ask_.pattern->MayMatch(frame.filter)) continue;
      if (ask_.items != nullptr && !ask_.items->HasAny(frame.first_item, frame.last_item)) continue;
      work.frames.push_back({.number = i});
    }
  }

  void Begin(const PackPtr& work, FrameWork& frame) {
    frame.begun = true;
    const bool resumes = work->pack.name() == from_.pack && frame.number == from_.frame;
    FrameSearchOptions options{
        .from = resumes ? from_.line : 0, .most = ask_.hits_most, .bytes_most = ask_.bytes_most};
    if (ask_.items != nullptr) {
      options.wanted = [items = ask_.items](std::int64_t item) { return items->Has(item); };
    }
    auto found = std::make_shared<FrameSearch>();
    packs_.UseFrame(
        work->pack, work->table->frames[frame.number], cost_,
        [found, options, pattern = ask_.pattern](const LogFrame& read) {
          *found = SearchFrame(read, *pattern, options);
        },
        // A frame stays where it is while its work is held: others leave by the front only.
        [self = shared_from_this(), work, &frame, found](const Result<void>& used) {
          if (!used && used.error().code != Code::kInvalid) return self->Stop(used.error());
          if (!self->done_) return;
          frame.done = true;
          frame.damaged = !used;
          frame.found = std::move(*found);
          self->Advance();
        });
  }

  // Takes what is finished, in order.
  void Collect() {
    while (!works_.empty() && works_.front()->ready) {
      PackWork& work = *works_.front();
      while (!work.frames.empty() && work.frames.front().done) {
        const FrameWork& frame = work.frames.front();
        if (!Take(work, frame)) return;
        if (frame.damaged) work.damaged = true;
        work.frames.pop_front();
      }
      if (!work.frames.empty()) break;
      ++page_.packs;
      if (work.damaged) ++page_.damaged;
      if (work.table != nullptr) {
        page_.attempts += static_cast<std::int64_t>(work.table->attempts);
        page_.text_bytes += static_cast<std::int64_t>(work.table->text_bytes());
      }
      last_ = works_.front();
      works_.pop_front();
      // What has come so far did not fill the page: look further ahead.
      ahead_ = std::min(kPacksAhead, ahead_ * 2);
    }
    if (works_.empty() && listed_.empty() && all_listed_) return Finish("");
    if (loop_.Now() - begun_ >= kPageTime) EndByTime();
  }

  // The page goes up to what is not finished yet.
  void EndByTime() {
    if (works_.empty()) return;  // the next listing says where to go on
    const PackWork& work = *works_.front();
    if (last_ == nullptr && (work.frames.empty() || !work.ready || !progressed_)) return;
    Cursor cursor{work.listing, work.pack.name()};
    if (work.ready && !work.frames.empty()) {
      cursor.frame = work.frames.front().number;
      const bool resumes = work.pack.name() == from_.pack && cursor.frame == from_.frame;
      cursor.line = resumes ? from_.line : 0;
    }
    Finish(Format(cursor));
  }

  // False: the page is full.
  bool Take(const PackWork& work, const FrameWork& frame) {
    const auto end = [&](std::uint64_t line) {
      Finish(Format({work.listing, work.pack.name(), frame.number, line}));
      return false;
    };
    for (const LogHit& hit : frame.found.hits) {
      if (page_.hits.size() >= ask_.hits_most ||
          (!page_.hits.empty() && bytes_ + hit.line.size() > ask_.bytes_most)) {
        return end(hit.at);
      }
      bytes_ += hit.line.size();
      page_.hits.push_back({{hit}, work.pack.session});
    }
    if (!frame.damaged && !frame.found.done) return end(frame.found.next);
    progressed_ = true;
    frames_ = kFramesAtOnce;
    return true;
  }

  Packs& packs_;
  Loop& loop_;
  const LogSearchAsk ask_;
  std::function<void(Result<LogSearchPage>)> done_;
  const Packs::Cost cost_ = std::make_shared<LogCost>();
  const TimePoint begun_ = loop_.Now();
  Cursor from_;
  std::string next_listing_;
  bool listing_ = false;
  bool all_listed_ = false;
  bool progressed_ = false;  // a whole frame was searched
  std::deque<PackPtr> listed_;
  std::deque<PackPtr> works_;  // those looked at now, in order
  PackPtr last_;               // the last that is finished
  std::size_t ahead_ = kPacksAtFirst;
  int frames_ = kFramesAtFirst;
  std::size_t bytes_ = 0;
  LogSearchPage page_;
};

}  // namespace

void ItemSet::Add(std::int64_t item) {
  const auto at = static_cast<std::size_t>(item);
  if (at >= bits_.size()) bits_.resize(at + 1 + bits_.size() / 2);
  bits_[at] = true;
}

bool ItemSet::Has(std::int64_t item) const {
  const auto at = static_cast<std::size_t>(item);
  return at < bits_.size() && bits_[at];
}

bool ItemSet::HasAny(std::int64_t first, std::int64_t last) const {
  const std::size_t end = std::min(bits_.size(), static_cast<std::size_t>(last) + 1);
  for (auto at = static_cast<std::size_t>(first); at < end; ++at) {
    if (bits_[at]) return true;
  }
  return false;
}

void SearchLogs(Packs& packs, Loop& loop, const LogSearchAsk& ask,
                std::function<void(Result<LogSearchPage>)> done) {
  std::make_shared<Searching>(packs, loop, ask, std::move(done))->Start();
}

}  // namespace tidemill
