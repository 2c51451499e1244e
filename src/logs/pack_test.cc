// SPDX-License-Identifier: Apache-2.0
#include "logs/pack.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"

namespace tidemill {
namespace {

struct Pack {
  std::string bytes;
  PackTable table;
  std::vector<PackEntry> directory;
};

Pack Open(std::string bytes) {
  Pack pack{std::move(bytes), {}, {}};
  const std::string_view all = pack.bytes;
  const auto end = ReadPackEnd(all.substr(all.size() - kPackEndBytes));
  EXPECT_TRUE(end);
  const auto table = ReadPackTable(
      *end, all.substr(all.size() - kPackEndBytes - end->table_bytes, end->table_bytes),
      all.size());
  EXPECT_TRUE(table) << table.error().reason;
  pack.table = *table;
  const auto directory =
      ReadPackDirectory(all.substr(pack.table.directory_offset, pack.table.directory_bytes));
  EXPECT_TRUE(directory) << directory.error().reason;
  pack.directory = *directory;
  return pack;
}

LogFrame FrameAt(const Pack& pack, std::size_t number) {
  const PackFrame& frame = pack.table.frames.at(number);
  auto read = ReadLogFrame(std::string_view(pack.bytes).substr(frame.offset, frame.bytes));
  EXPECT_TRUE(read) << read.error().reason;
  return *std::move(read);
}

// What an attempt wrote, as the directory says where it is.
std::string TextOf(const Pack& pack, const LogAttempt& who) {
  std::string text;
  for (const PackEntry& entry : pack.directory) {
    if (entry.who != who) continue;
    for (const PackEntry::In& in : entry.frames) {
      const LogFrame frame = FrameAt(pack, in.frame);
      for (const LogFrame::Group& group : frame.groups) {
        if (group.who != who) continue;
        EXPECT_EQ(group.parts, in.parts);
        EXPECT_EQ(group.text_bytes, in.bytes);
        text += frame.TextOf(group);
      }
    }
  }
  return text;
}

TEST(Pack, HasWhatEachAttemptWroteInItsOrder) {
  PackWriter writer(64);
  std::map<LogAttempt, std::string> wrote;
  for (int i = 0; i < 200; ++i) {
    const LogAttempt who{i * 7 % 5, i % 2, 1 + i % 3};
    const std::string text = "line " + std::to_string(i) + "\n";
    writer.Add(who, {.time_ms = 1000 + i, .flags = i < 1 ? LogPart::kBegins : 0}, text);
    wrote[who] += text;
  }
  writer.Add({0, 0, 1}, {.time_ms = 2000, .flags = LogPart::kLast}, "");
  const Pack pack = Open(writer.Finish());
  EXPECT_GT(pack.table.frames.size(), 10u);
  EXPECT_EQ(pack.directory.size(), wrote.size());
  EXPECT_EQ(pack.table.attempts, wrote.size());
  for (const auto& [who, text] : wrote) EXPECT_EQ(TextOf(pack, who), text);
  EXPECT_TRUE(pack.directory.front().begins);
  EXPECT_TRUE(pack.directory.front().ends);
  EXPECT_FALSE(pack.directory.back().begins);
  EXPECT_FALSE(pack.directory.back().ends);
}

TEST(Pack, KeepsHolesAndTimes) {
  PackWriter writer;
  writer.Add({3, 0, 1}, {.time_ms = 5, .flags = LogPart::kBegins}, "a");
  writer.Add({3, 0, 1},
             {.time_ms = 9,
              .flags = LogPart::kHole | LogPart::kLimit | LogPart::kLast,
              .missing = 1'000'000},
             "");
  const Pack pack = Open(writer.Finish());
  const LogFrame frame = FrameAt(pack, 0);
  ASSERT_EQ(frame.parts.size(), 2u);
  EXPECT_EQ(frame.parts[0], (LogPart{.time_ms = 5, .flags = LogPart::kBegins, .size = 1}));
  EXPECT_EQ(frame.parts[1], (LogPart{.time_ms = 9,
                                     .flags = LogPart::kHole | LogPart::kLimit | LogPart::kLast,
                                     .missing = 1'000'000}));
}

TEST(Pack, CutsWhatIsLongerThanAFrame) {
  PackWriter writer(100);
  const std::string text(1234, 'x');
  writer.Add({1, 0, 1}, {.flags = LogPart::kBegins | LogPart::kLast}, text);
  const Pack pack = Open(writer.Finish());
  EXPECT_EQ(pack.table.frames.size(), 13u);
  EXPECT_EQ(TextOf(pack, {1, 0, 1}), text);
  EXPECT_EQ(FrameAt(pack, 0).parts[0].flags, LogPart::kBegins);
  EXPECT_EQ(FrameAt(pack, 12).parts[0].flags, LogPart::kLast);
}

TEST(Pack, TellsWhichItemsItMayHave) {
  PackWriter writer;
  writer.Add({10, 0, 1}, {}, "a");
  writer.Add({20, 0, 1}, {}, "a");
  const Pack pack = Open(writer.Finish());
  EXPECT_TRUE(pack.table.MayHave(10));
  EXPECT_TRUE(pack.table.MayHave(20));
  EXPECT_FALSE(pack.table.MayHave(9));
  EXPECT_FALSE(pack.table.MayHave(21));
}

TEST(Pack, ThatIsCutOrChangedIsRefusedOrRead) {
  PackWriter writer(64);
  for (int i = 0; i < 20; ++i) writer.Add({i, 0, 1}, {.time_ms = i}, "some text\n");
  const std::string good = writer.Finish();
  SeededRandom random(7);
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = good;
    bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    const std::string_view all = bytes;
    const auto end = ReadPackEnd(all.substr(all.size() - kPackEndBytes));
    if (!end || end->table_bytes + kPackEndBytes > all.size()) continue;
    const auto table = ReadPackTable(
        *end, all.substr(all.size() - kPackEndBytes - end->table_bytes, end->table_bytes),
        all.size());
    if (!table) continue;
    (void)ReadPackDirectory(all.substr(table->directory_offset, table->directory_bytes));
    for (const PackFrame& frame : table->frames) {
      (void)ReadLogFrame(all.substr(frame.offset, frame.bytes));
    }
  }
  EXPECT_FALSE(ReadPackEnd(""));
  EXPECT_FALSE(ReadPackEnd(std::string(16, 'x')));
}

TEST(Filter, HasEveryGramOfItsText) {
  rc::check([](const std::string& text, const std::string& more) {
    GramCollector grams;
    grams.Add(text);
    grams.Add(more);
    const GramFilter filter = grams.Make(64);
    std::string small = text;
    for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (std::size_t at = 0; at < small.size(); ++at) {
      RC_ASSERT(filter.MayHave(std::string_view(small).substr(at, 9)));
    }
  });
}

TEST(Filter, LeavesOutWhatIsNotThere) {
  GramCollector grams;
  for (int i = 0; i < 1000; ++i) grams.Add("item " + std::to_string(1000 + i) + " took 12.5 s\n");
  const GramFilter filter = grams.Make(1000);
  EXPECT_LE(filter.bytes().size(), 64u);
  EXPECT_TRUE(filter.MayHave("item 4711 took"));
  EXPECT_FALSE(filter.MayHave("cuda error"));
  EXPECT_TRUE(filter.MayHave("cud"));  // too short to tell
  EXPECT_TRUE(GramFilter("odd").MayHave("cuda error"));
}

}  // namespace
}  // namespace tidemill
