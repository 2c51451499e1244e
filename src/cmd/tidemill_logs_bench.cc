// SPDX-License-Identifier: Apache-2.0
// tidemill-logs-bench: fills an object store with the logs of many items and searches them.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/random.h"
#include "cloud/world.h"
#include "logs/pack.h"
#include "logs/shelf/item_log.h"
#include "logs/shelf/job_search.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"
#include "objects/open.h"

namespace tidemill {
namespace {

struct Flags {
  std::string objects;
  std::int64_t items = 1'000'000;
  std::int64_t item_bytes = 1000;
  std::int64_t pack_bytes = 32 << 20;
};

// What a program of some hundred kinds of lines prints: words that come again and again, and
// numbers, sums and names that do not.
class Printer {
 public:
  explicit Printer(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 400; ++i) words_.push_back(Word());
    for (int i = 0; i < 120; ++i) lines_.push_back(Template());
  }

  std::string Log(std::int64_t item, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
      text += "2026-05-01 12:" + Number(60) + ":" + Number(60) + "." + Number(1000) + " ";
      for (const char c : lines_[random_.Below(lines_.size())]) Expand(text, c, item);
      text += "\n";
    }
    return text;
  }

 private:
  std::string Word() {
    std::string word;
    const std::size_t length = 3 + random_.Below(8);
    while (word.size() < length) word.push_back(static_cast<char>('a' + random_.Below(26)));
    return word;
  }
  std::string Template() {
    std::string line;
    const std::size_t count = 6 + random_.Below(6);
    for (std::size_t i = 0; i < count; ++i) {
      constexpr char kFields[] = {1, 2, 3, 4};
      if (random_.Below(4) == 0) {
        line.push_back(kFields[random_.Below(4)]);
      } else {
        line += words_[random_.Below(words_.size())];
      }
      line.push_back(' ');
    }
    return line;
  }
  std::string Number(std::uint64_t below) { return std::to_string(random_.Below(below)); }
  void Expand(std::string& text, char c, std::int64_t item) {
    constexpr char kHex[] = "0123456789abcdef";
    switch (c) {
      case 1:
        text += Number(1'000'000);
        return;
      case 2:
        text += Number(1000) + "." + Number(1000);
        return;
      case 3:
        for (int i = 0; i < 8; ++i) text.push_back(kHex[random_.Below(16)]);
        return;
      case 4:
        text += "scenes/" + std::to_string(item) + ".blend";
        return;
      default:
        text.push_back(c);
    }
  }

  SeededRandom random_;
  std::vector<std::string> words_;
  std::vector<std::string> lines_;
};

class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags) {}

  int Run() {
    const auto found = stores_.Find(flags_.objects);
    if (!found) return Refuse(found.error());
    place_ = *found;
    if (!place_.key.empty() && !place_.key.ends_with('/')) place_.key += '/';
    place_.key += "jobs/bench/bench-1/logs/";
    if (const auto filled = Fill(); !filled) return Refuse(filled.error());
    std::printf("{\"items\":%lld,\"text_bytes\":%lld,\"stored_bytes\":%lld,\"packs\":%lld",
                static_cast<long long>(flags_.items), static_cast<long long>(text_bytes_),
                static_cast<long long>(stored_bytes_), static_cast<long long>(packs_));
    for (const auto& [name, pattern] :
         {std::pair("one", "CUDA error: an illegal memory access"),
          std::pair("none", "no such \\w+"), std::pair("everywhere", "2026"),
          std::pair("number", "scenes/123456[.]blend")}) {
      if (const auto done = Search(name, pattern); !done) return Refuse(done.error());
    }
    if (const auto done = ReadOne(); !done) return Refuse(done.error());
    std::printf("}\n");
    return 0;
  }

 private:
  static int Refuse(const Error& error) {
    std::fprintf(stderr, "tidemill-logs-bench: %s\n", error.reason.c_str());
    return 1;
  }

  template <typename T, typename Start>
  Result<T> Await(Start start) {
    std::optional<Result<T>> got;
    start([&](Result<T> result) {
      got = std::move(result);
      loop_.Stop();
    });
    loop_.Run();
    return got ? *std::move(got) : Fail(Code::kInternal, "no answer");
  }

  Result<void> Fill() {
    Printer printer(7);
    PackWriter writer;
    std::int64_t in_pack = 0;
    std::int64_t pack = 0;
    for (std::int64_t item = 0; item < flags_.items; ++item) {
      std::string text = printer.Log(item, static_cast<std::size_t>(flags_.item_bytes));
      if (item == flags_.items * 2 / 3) text += "CUDA error: an illegal memory access was met\n";
      text_bytes_ += static_cast<std::int64_t>(text.size());
      in_pack += static_cast<std::int64_t>(text.size());
      const LogPart part{.time_ms = 1'777'636'800'000 + item, .flags = LogPart::kBegins};
      writer.Add({item, 0, 1}, part, text);
      writer.Add({item, 0, 1}, {.time_ms = part.time_ms + 5, .flags = LogPart::kLast}, "");
      if (in_pack < flags_.pack_bytes && item + 1 < flags_.items) continue;
      std::string bytes = writer.Finish();
      writer = PackWriter();
      in_pack = 0;
      stored_bytes_ += static_cast<std::int64_t>(bytes.size());
      std::string name = std::to_string(++pack);
      name.insert(0, 12 - name.size(), '0');
      TIDEMILL_TRY_VOID(Await<void>([&](auto done) {
        place_.store->Put(place_.key + "session/" + name, BodyOf(std::move(bytes)), {}, done);
      }));
      ++packs_;
    }
    return {};
  }

  using Clock = std::chrono::steady_clock;
  static double Since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  // Cold: nothing is known of any pack before.
  Result<void> Search(const char* name, const std::string& pattern) {
    Packs packs(*place_.store, pool_);
    LogSearchAsk ask{.place = place_.key};
    TIDEMILL_TRY(ask.pattern, LogPattern::Parse(pattern));
    const auto begin = Clock::now();
    double first_s = 0;
    std::size_t hits = 0;
    std::int64_t fetched = 0;
    int pages = 0;
    do {
      TIDEMILL_TRY(const LogSearchPage page,
                   Await<LogSearchPage>([&](auto done) { SearchLogs(packs, loop_, ask, done); }));
      if (pages++ == 0) first_s = Since(begin);
      hits += page.hits.size();
      fetched += page.fetched_bytes;
      ask.cursor = page.cursor;
    } while (!ask.cursor.empty() && hits < 100'000);
    std::printf(
        ",\"%s\":{\"hits\":%zu,\"pages\":%d,\"first_page_s\":%.3f,\"s\":%.3f,\"fetched_bytes\":%"
        "lld}",
        name, hits, pages, first_s, Since(begin), static_cast<long long>(fetched));
    return {};
  }

  Result<void> ReadOne() {
    Packs packs(*place_.store, pool_);
    const auto begin = Clock::now();
    TIDEMILL_TRY(const ItemLogPage page, Await<ItemLogPage>([&](auto done) {
                   ReadItemLog(packs, {.place = place_.key, .item = flags_.items / 2}, done);
                 }));
    std::printf(",\"item\":{\"s\":%.3f,\"fetched_bytes\":%lld,\"ended\":%s}", Since(begin),
                static_cast<long long>(page.fetched_bytes), page.ended ? "true" : "false");
    return {};
  }

  const Flags flags_;
  AsioLoop loop_;
  ThreadPool pool_{loop_, 2};
  SystemRandom random_;
  const CloudWorld world_ = SystemWorld();
  ObjectStores stores_{{loop_, pool_, random_, world_}};
  ObjectStores::Place place_;
  std::int64_t text_bytes_ = 0;
  std::int64_t stored_bytes_ = 0;
  std::int64_t packs_ = 0;
};

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Fills an object store with logs and measures searches in them.",
               "tidemill-logs-bench");
  app.add_option("--objects", flags.objects, "Where; should be empty")
      ->required()
      ->type_name("URL");
  app.add_option("--items", flags.items)->capture_default_str();
  app.add_option("--item-bytes", flags.item_bytes)->capture_default_str();
  app.add_option("--pack-bytes", flags.pack_bytes, "Of text, in each pack")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return Bench(flags).Run();
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) { return tidemill::Main(argc, argv); }
