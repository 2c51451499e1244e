// SPDX-License-Identifier: Apache-2.0
#include "logs/shelf/packs.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

constexpr std::size_t kSeqDigits = 12;
// How much of a pack's end is fetched in the hope that its table is in it: filters take a hundredth
// of the frames.
constexpr std::int64_t kTableShare = 90;
constexpr std::int64_t kTableLeast = 1024;

bool AllDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Nothing: it is not a pack's.
bool ReadName(std::string_view name, PackRef& pack) {
  const std::size_t slash = name.find('/');
  if (slash == name.npos || slash == 0) return false;
  const std::string_view seq = name.substr(slash + 1);
  if (seq.size() != kSeqDigits || !AllDigits(seq)) return false;
  pack.session = name.substr(0, slash);
  pack.seq = seq;
  return true;
}

Error Damaged(const PackRef& pack, const Error& error) {
  return {Code::kInvalid, "log pack " + pack.name() + ": " + error.reason};
}

}  // namespace

void Packs::List(const std::string& place, const std::string& begin, const std::string& next,
                 Done<Page> done) {
  store_.List({.prefix = place + begin, .next = next},
              [place, done = std::move(done)](Result<ListPage> listed) {
                if (!listed) return done(tl::unexpected(listed.error()));
                Page page{.next = std::move(listed->next)};
                for (ObjectInfo& object : listed->objects) {
                  PackRef pack{.size_bytes = object.size_bytes};
                  if (!ReadName(std::string_view(object.key).substr(place.size()), pack)) continue;
                  pack.key = std::move(object.key);
                  page.packs.push_back(std::move(pack));
                }
                done(std::move(page));
              });
}

void Packs::ListAll(const std::string& place, const std::string& begin,
                    Done<std::vector<PackRef>> done) {
  struct Listing {
    std::vector<PackRef> packs;
    std::function<void(const std::string&)> more;
  };
  auto listing = std::make_shared<Listing>();
  // The circle is cut when the listing ends; a store that is gone answers no more, and cuts it too.
  listing->more = [this, place, begin, done = std::move(done),
                   weak = std::weak_ptr<Listing>(listing)](const std::string& next) {
    const auto held = weak.lock();
    List(place, begin, next, [held, done](Result<Page> page) {
      if (!page) return done(tl::unexpected(page.error()));
      std::move(page->packs.begin(), page->packs.end(), std::back_inserter(held->packs));
      if (page->next.empty()) return done(std::move(held->packs));
      if (held->packs.size() > kPacksMost) {
        return done(Fail(Code::kExhausted, "this job has too many log packs"));
      }
      held->more(page->next);
    });
  };
  listing->more("");
}

void Packs::Fetch(const std::string& key, ObjectRange range, const Cost& cost,
                  Done<std::string> done) {
  waiting_.push_back([this, key, range, cost, done = std::move(done)] {
    auto bytes = std::make_shared<std::string>();
    store_.Get(
        key, range,
        [bytes](std::string_view piece) -> Result<void> {
          bytes->append(piece);
          return {};
        },
        [this, bytes, cost, done](const Result<ObjectInfo>& info) {
          --under_way_;
          cost->fetched_bytes += static_cast<std::int64_t>(bytes->size());
          if (info) {
            done(std::move(*bytes));
          } else {
            done(tl::unexpected(info.error()));
          }
          Next();
        });
  });
  Next();
}

void Packs::Next() {
  while (under_way_ < kAtOnce && !waiting_.empty()) {
    ++under_way_;
    const auto start = std::move(waiting_.front());
    waiting_.pop_front();
    start();
  }
}

Packs::Kept& Packs::Keep(const std::string& key, std::size_t bytes) {
  const auto [found, fresh] = kept_.try_emplace(key);
  if (fresh) order_.push_back(key);
  found->second.bytes += bytes;
  kept_bytes_ += bytes;
  while (kept_bytes_ > kKeptBytes && order_.size() > 1 && order_.front() != key) {
    const auto old = kept_.find(order_.front());
    kept_bytes_ -= old->second.bytes;
    kept_.erase(old);
    order_.pop_front();
  }
  return found->second;
}

void Packs::GetTable(const PackRef& pack, const Cost& cost, Done<Table> done) {
  const auto kept = kept_.find(pack.key);
  if (kept != kept_.end() && kept->second.table != nullptr) {
    // Not from inside the call.
    return worker_.Run(
        [] {},
        [done = std::move(done), table = kept->second.table, alive = std::weak_ptr<char>(alive_)] {
          if (!alive.expired()) done(table);
        });
  }
  FetchTable(pack, std::max(kTableLeast, pack.size_bytes / kTableShare), cost, std::move(done));
}

void Packs::FetchTable(const PackRef& pack, std::int64_t bytes, const Cost& cost,
                       Done<Table> done) {
  bytes = std::min(bytes, pack.size_bytes);
  Fetch(pack.key, {.offset = pack.size_bytes - bytes, .size = bytes}, cost,
        [this, pack, bytes, cost, done = std::move(done)](Result<std::string> got) {
          if (!got) return done(tl::unexpected(got.error()));
          const std::string_view all = *got;
          const auto end =
              ReadPackEnd(all.substr(all.size() - std::min(all.size(), kPackEndBytes)));
          if (!end) return done(tl::unexpected(Damaged(pack, end.error())));
          const std::size_t need = kPackEndBytes + end->table_bytes;
          if (need > all.size()) {
            if (static_cast<std::int64_t>(need) > pack.size_bytes ||
                static_cast<std::int64_t>(need) <= bytes) {
              return done(tl::unexpected(Damaged(pack, {Code::kInvalid, "its table is cut"})));
            }
            return FetchTable(pack, static_cast<std::int64_t>(need), cost, done);
          }
          auto table = ReadPackTable(*end, all.substr(all.size() - need, end->table_bytes),
                                     static_cast<std::uint64_t>(pack.size_bytes));
          if (!table) return done(tl::unexpected(Damaged(pack, table.error())));
          Table shared = std::make_shared<const PackTable>(*std::move(table));
          Keep(pack.key, need + 200).table = shared;
          done(std::move(shared));
        });
}

void Packs::GetDirectory(const PackRef& pack, const Cost& cost, Done<Directory> done) {
  const auto kept = kept_.find(pack.key);
  if (kept != kept_.end() && kept->second.directory != nullptr) {
    return worker_.Run([] {},
                       [done = std::move(done), directory = kept->second.directory,
                        alive = std::weak_ptr<char>(alive_)] {
                         if (!alive.expired()) done(directory);
                       });
  }
  GetTable(pack, cost, [this, pack, cost, done = std::move(done)](Result<Table> table) {
    if (!table) return done(tl::unexpected(table.error()));
    FetchDirectory(pack, *table, cost, done);
  });
}

void Packs::FetchDirectory(const PackRef& pack, const Table& table, const Cost& cost,
                           Done<Directory> done) {
  const ObjectRange range{.offset = static_cast<std::int64_t>(table->directory_offset),
                          .size = static_cast<std::int64_t>(table->directory_bytes)};
  Fetch(pack.key, range, cost, [this, pack, done = std::move(done)](Result<std::string> got) {
    if (!got) return done(tl::unexpected(got.error()));
    using Read = Result<std::vector<PackEntry>>;
    auto read = std::make_shared<Read>(Fail(Code::kInternal, "not run"));
    worker_.Run([read, bytes = *std::move(got)] { *read = ReadPackDirectory(bytes); },
                [this, pack, read, done, alive = std::weak_ptr<char>(alive_)] {
                  if (alive.expired()) return;
                  if (!*read) return done(tl::unexpected(Damaged(pack, read->error())));
                  const std::size_t bytes = (*read)->size() * 2 * sizeof(PackEntry);
                  Directory shared =
                      std::make_shared<const std::vector<PackEntry>>(*std::move(*read));
                  Keep(pack.key, bytes).directory = shared;
                  done(std::move(shared));
                });
  });
}

void Packs::UseFrame(const PackRef& pack, const PackFrame& frame, const Cost& cost,
                     std::function<void(const LogFrame&)> use, Done<void> done) {
  const ObjectRange range{.offset = static_cast<std::int64_t>(frame.offset),
                          .size = static_cast<std::int64_t>(frame.bytes)};
  Fetch(pack.key, range, cost,
        [this, pack, use = std::move(use), done = std::move(done)](Result<std::string> got) {
          if (!got) return done(tl::unexpected(got.error()));
          auto result = std::make_shared<Result<void>>();
          worker_.Run(
              [result, use, bytes = *std::move(got)] {
                const auto read = ReadLogFrame(bytes);
                if (read) {
                  use(*read);
                } else {
                  *result = tl::unexpected(read.error());
                }
              },
              [pack, result, done, alive = std::weak_ptr<char>(alive_)] {
                if (alive.expired()) return;
                if (!*result) return done(tl::unexpected(Damaged(pack, result->error())));
                done({});
              });
        });
}

}  // namespace tidemill
