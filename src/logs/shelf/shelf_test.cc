// SPDX-License-Identifier: Apache-2.0
// Packs in an object store, which is a folder here.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/virtual_loop.h"
#include "logs/shelf/item_log.h"
#include "logs/shelf/job_search.h"
#include "objects/file_store.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlace = "jobs/p/render-7/logs/";

class ShelfTest : public ::testing::Test {
 protected:
  ShelfTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-shelf-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    store_ = std::make_unique<FileStore>(loop_, worker_, folder_.string());
    packs_ = std::make_unique<Packs>(*store_, worker_);
  }
  ~ShelfTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& bytes) {
    const fs::path path = folder_ / kPlace / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    stored_bytes_ += bytes.size();
  }

  struct Part {
    LogAttempt who;
    LogPart part;
    std::string text;
  };
  void Put(const std::string& name, const std::vector<Part>& parts) {
    PackWriter writer(100);
    for (const Part& part : parts) writer.Add(part.who, part.part, part.text);
    Write(name, writer.Finish());
  }

  template <typename T, typename Start>
  Result<T> Await(Start start) {
    std::optional<Result<T>> got;
    start([&got](Result<T> result) { got = std::move(result); });
    while (!got) {
      if (!loop_.Step()) return Fail(Code::kInternal, "no answer");
    }
    return *std::move(got);
  }
  ItemLogPage Read(ItemLogAsk ask) {
    ask.place = kPlace;
    auto page = Await<ItemLogPage>([&](auto done) { ReadItemLog(*packs_, ask, done); });
    EXPECT_TRUE(page) << page.error().reason;
    return page ? *std::move(page) : ItemLogPage{};
  }
  static std::string TextOf(const ItemLogPage& page) {
    std::string text;
    for (const ItemLogPart& part : page.parts) {
      if (part.lost_before) text += "!";
      if (part.missing > 0) text += "<" + std::to_string(part.missing) + ">";
      text += part.text;
    }
    return text;
  }
  Result<LogSearchPage> Search(const std::string& pattern, LogSearchAsk ask = {}) {
    ask.place = kPlace;
    ask.pattern = *LogPattern::Parse(pattern);
    return Await<LogSearchPage>([&](auto done) { SearchLogs(*packs_, loop_, ask, done); });
  }
  std::vector<std::string> SearchAll(const std::string& pattern, LogSearchAsk ask = {}) {
    std::vector<std::string> lines;
    for (pages_ = 1; pages_ < 1000; ++pages_) {
      auto page = Search(pattern, ask);
      EXPECT_TRUE(page) << page.error().reason;
      if (!page) break;
      for (const auto& hit : page->hits) lines.push_back(hit.line);
      fetched_ += page->fetched_bytes;
      attempts_ += page->attempts;
      ask.cursor = page->cursor;
      if (ask.cursor.empty()) break;
    }
    return lines;
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  fs::path folder_;
  std::unique_ptr<FileStore> store_;
  std::unique_ptr<Packs> packs_;
  std::size_t stored_bytes_ = 0;
  std::int64_t fetched_ = 0;
  std::int64_t attempts_ = 0;
  int pages_ = 0;
};

constexpr std::uint32_t kBegins = LogPart::kBegins;
constexpr std::uint32_t kLast = LogPart::kLast;

TEST_F(ShelfTest, AnItemsLogIsReadOverPacks) {
  Put("s/000000000001", {{{3, 0, 1}, {.time_ms = 1, .flags = kBegins}, "one\n"},
                         {{4, 0, 1}, {.time_ms = 1, .flags = kBegins}, "other\n"}});
  Put("s/000000000002", {{{4, 0, 1}, {.time_ms = 2, .flags = kLast}, ""}});
  Put("s/000000000003",
      {{{3, 0, 1}, {.time_ms = 3}, "two\n"},
       {{3, 0, 1}, {.time_ms = 4, .flags = LogPart::kHole | kLast, .missing = 9}, "three\n"}});
  const ItemLogPage page = Read({.item = 3});
  EXPECT_TRUE(page.found);
  EXPECT_TRUE(page.ended);
  EXPECT_FALSE(page.more);
  EXPECT_EQ(TextOf(page), "one\ntwo\n<9>three\n");
  EXPECT_EQ(page.next, 3U);
  EXPECT_GT(page.fetched_bytes, 0);
  EXPECT_EQ(TextOf(Read({.item = 3, .after = 1})), "two\n<9>three\n");
  EXPECT_EQ(TextOf(Read({.item = 3, .tail = 2})), "two\n<9>three\n");
  EXPECT_EQ(TextOf(Read({.item = 3, .tail = 1})), "<9>three\n");
  EXPECT_FALSE(Read({.item = 5}).found);
}

TEST_F(ShelfTest, ThePackWithTheEndIsEnoughIfItHasTheBeginning) {
  Put("s/000000000001", {{{3, 0, 1}, {.flags = kBegins | kLast}, "all\n"}});
  for (int i = 2; i < 9; ++i) {
    Put("s/00000000000" + std::to_string(i), {{{3, 0, 2}, {}, "later\n"}});
  }
  const ItemLogPage page =
      Read({.item = 3, .round = 0, .attempt = 1, .last_pack = "s/000000000001"});
  EXPECT_EQ(TextOf(page), "all\n");
  EXPECT_TRUE(page.ended);
  const ItemLogPage late =
      Read({.item = 3, .round = 0, .attempt = 2, .last_pack = "s/000000000099"});
  EXPECT_EQ(TextOf(late), "later\nlater\nlater\nlater\nlater\nlater\nlater\n");
  EXPECT_TRUE(late.awaited);
  EXPECT_FALSE(late.ended);
}

TEST_F(ShelfTest, TheNewestAttemptIsShownAndEachCanBe) {
  Put("s/000000000001", {{{3, 0, 1}, {.flags = kBegins | kLast}, "first\n"},
                         {{3, 0, 2}, {.flags = kBegins | kLast}, "second\n"},
                         {{3, 1, 1}, {.flags = kBegins | kLast}, "after a retry\n"}});
  EXPECT_EQ(TextOf(Read({.item = 3})), "after a retry\n");
  EXPECT_EQ(TextOf(Read({.item = 3, .attempt = 2})), "second\n");
  EXPECT_EQ(TextOf(Read({.item = 3, .round = 0})), "second\n");
  EXPECT_EQ(TextOf(Read({.item = 3, .round = 0, .attempt = 1})), "first\n");
}

TEST_F(ShelfTest, WhatALostMachineWroteStandsBeforeWhatTheNextOneDid) {
  Put("z/000000000001", {{{3, 0, 1}, {.time_ms = 10, .flags = kBegins}, "one\n"}});
  Put("a/000000000001", {{{3, 0, 1}, {.time_ms = 90, .flags = kBegins | kLast}, "again\n"}});
  EXPECT_EQ(TextOf(Read({.item = 3})), "one\n!again\n");
  // Also if it had ended there: nobody heard of it.
  Put("z/000000000002", {{{4, 0, 1}, {.time_ms = 10, .flags = kBegins | kLast}, "one\n"}});
  Put("a/000000000002", {{{4, 0, 1}, {.time_ms = 90, .flags = kBegins | kLast}, "again\n"}});
  EXPECT_EQ(TextOf(Read({.item = 4})), "one\n!again\n");
}

TEST_F(ShelfTest, WhereAnAgentWasLostSomethingMayBeMissing) {
  Put("s/000000000001", {{{3, 0, 1}, {.time_ms = 10, .flags = kBegins}, "one\n"},
                         {{4, 0, 1}, {.time_ms = 10, .flags = kBegins}, "one\n"}});
  Put("s/000001000001",
      {{{3, 0, 1}, {.time_ms = 20, .flags = LogPart::kResumed}, "two\n"},
       {{3, 0, 1}, {.time_ms = 30, .flags = kLast}, "three\n"},
       {{4, 0, 1}, {.time_ms = 20, .flags = kLast}, "begun anew\n"},
       {{5, 0, 1}, {.time_ms = 20, .flags = LogPart::kResumed | kLast}, "all that is left\n"}});
  EXPECT_EQ(TextOf(Read({.item = 3})), "one\n!two\nthree\n");
  EXPECT_EQ(TextOf(Read({.item = 4})), "one\n!begun anew\n");
  EXPECT_EQ(TextOf(Read({.item = 5})), "!all that is left\n");
}

TEST_F(ShelfTest, ALongLogComesInPages) {
  std::vector<Part> parts;
  std::string all;
  for (int i = 0; i < 100; ++i) {
    parts.push_back({{3, 0, 1}, {}, "line " + std::to_string(i) + "\n"});
    all += parts.back().text;
  }
  Put("s/000000000001", parts);
  std::string text;
  ItemLogAsk ask{.item = 3, .page_bytes = 50};
  int pages = 0;
  for (; pages < 100; ++pages) {
    const ItemLogPage page = Read(ask);
    text += TextOf(page);
    ask.after = page.next;
    if (!page.more) break;
  }
  EXPECT_EQ(text, all);
  EXPECT_GT(pages, 5);
}

TEST_F(ShelfTest, ASearchSkipsWhatCannotMatch) {
  for (int p = 10; p < 60; ++p) {
    PackWriter writer(20'000);
    for (int i = 0; i < 1000; ++i) {
      std::string text = "item " + std::to_string(i) + " rendered in " +
                         std::to_string(random_.Below(1000000)) + " ms, checksum " +
                         std::to_string(random_.Below(1u << 31)) + "\n";
      if (p == 42 && i == 777) text += "CUDA error: illegal access\n";
      writer.Add({p * 1000 + i, 0, 1}, {.time_ms = i, .flags = kBegins | kLast}, text);
    }
    Write("s/0000000000" + std::to_string(p), writer.Finish());
  }
  EXPECT_EQ(SearchAll("CUDA error"), std::vector<std::string>{"CUDA error: illegal access"});
  EXPECT_EQ(attempts_, 50'000);
  EXPECT_LT(fetched_, static_cast<std::int64_t>(stored_bytes_ / 10));
  // Each line once, however small the pages are.
  const auto lines = SearchAll("item \\d+", {.hits_most = 700});
  EXPECT_EQ(lines.size(), 50'000U);
  EXPECT_GT(pages_, 70);
}

TEST_F(ShelfTest, ASearchLooksOnlyAtTheItemsAskedFor) {
  Put("s/000000000001", {{{3, 0, 1}, {}, "x 3\n"}, {{4, 0, 1}, {}, "x 4\n"}});
  auto items = std::make_shared<ItemSet>();
  items->Add(4);
  EXPECT_EQ(SearchAll("x", {.items = items}), std::vector<std::string>{"x 4"});
}

TEST_F(ShelfTest, DamagedPacksAndOtherObjectsAreLeftOut) {
  Put("s/000000000001", {{{3, 0, 1}, {}, "hit\n"}});
  Write("s/000000000002", "not a pack at all");
  Write("s/000000000003", "");
  Write("s/notes.txt", "hit");
  const auto page = Search("hit");
  ASSERT_TRUE(page) << page.error().reason;
  EXPECT_EQ(page->hits.size(), 1U);
  EXPECT_EQ(page->damaged, 2);
  EXPECT_EQ(TextOf(Read({.item = 3})), "hit\n");
  EXPECT_FALSE(Search("hit", {.cursor = "nonsense"}));
}

TEST_F(ShelfTest, AJobWithoutPacksHasNoHits) {
  const auto page = Search("hit");
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->hits.empty());
  EXPECT_TRUE(page->cursor.empty());
}

TEST(LastLines, CountsTheLastOneWithOrWithoutItsEnd) {
  EXPECT_EQ(LastLines("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(LastLines("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(LastLines("a\nb\n", 5), "a\nb\n");
  EXPECT_EQ(LastLines("\n\n", 1), "\n");
  EXPECT_EQ(LastLines("", 3), "");
  EXPECT_EQ(LastLines("a", 0), "");
}

}  // namespace
}  // namespace tidemill
