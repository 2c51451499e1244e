// SPDX-License-Identifier: Apache-2.0
#include "logs/search.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tidemill {
namespace {

std::shared_ptr<const LogPattern> Parsed(const std::string& text) {
  auto pattern = LogPattern::Parse(text);
  EXPECT_TRUE(pattern) << pattern.error().reason;
  return *pattern;
}

GramFilter FilterOf(const std::string& text) {
  GramCollector grams;
  grams.Add(text);
  return grams.Make(16384);
}

LogFrame FrameWith(const std::vector<std::pair<LogAttempt, std::string>>& parts) {
  PackWriter writer;
  std::int64_t time = 100;
  for (const auto& [who, text] : parts) writer.Add(who, {.time_ms = time++}, text);
  const std::string pack = writer.Finish();
  const auto end = ReadPackEnd(std::string_view(pack).substr(pack.size() - kPackEndBytes));
  const std::size_t bytes = pack.size() - kPackEndBytes - end->table_bytes - end->directory_bytes;
  return *ReadLogFrame(std::string_view(pack).substr(0, bytes));
}

TEST(Search, FindsLinesWithTheirItemAndTime) {
  const LogFrame frame = FrameWith({{{1, 0, 1}, "fine\nCUDA er"},
                                    {{2, 0, 1}, "CUDA error: 7\n"},
                                    {{1, 0, 1}, "ror: 8\nfine\n"},
                                    {{1, 0, 2}, "no end of line: CUDA error: 9"}});
  const FrameSearch found = SearchFrame(frame, *Parsed("CUDA error: \\d$"), {});
  ASSERT_EQ(found.hits.size(), 3u);
  EXPECT_TRUE(found.done);
  EXPECT_EQ(found.hits[0].line, "CUDA error: 8");  // over two parts
  EXPECT_EQ(found.hits[0].who, (LogAttempt{1, 0, 1}));
  EXPECT_EQ(found.hits[0].time_ms, 100);
  EXPECT_EQ(found.hits[1].line, "no end of line: CUDA error: 9");
  EXPECT_EQ(found.hits[1].time_ms, 103);
  EXPECT_EQ(found.hits[2].who.item, 2);
}

TEST(Search, GoesOnWhereAPageEnded) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += (i % 2 == 0 ? "hit " : "miss ") + std::to_string(i) + "\n";
  const LogFrame frame = FrameWith({{{1, 0, 1}, text}});
  std::vector<std::string> lines;
  std::uint64_t from = 0;
  for (int page = 0; page < 100; ++page) {
    const FrameSearch found = SearchFrame(frame, *Parsed("hit"), {.from = from, .most = 7});
    for (const LogHit& hit : found.hits) lines.push_back(hit.line);
    from = found.next;
    if (found.done) break;
  }
  ASSERT_EQ(lines.size(), 50u);
  EXPECT_EQ(lines[0], "hit 0");
  EXPECT_EQ(lines[49], "hit 98");
}

TEST(Search, LooksOnlyAtWhatIsWanted) {
  const LogFrame frame = FrameWith({{{1, 0, 1}, "x\n"}, {{2, 0, 1}, "x\n"}});
  const FrameSearch found =
      SearchFrame(frame, *Parsed("x"), {.wanted = [](std::int64_t item) { return item == 2; }});
  ASSERT_EQ(found.hits.size(), 1u);
  EXPECT_EQ(found.hits[0].who.item, 2);
}

TEST(Search, RefusesWhatIsNoPattern) {
  EXPECT_FALSE(LogPattern::Parse(""));
  EXPECT_FALSE(LogPattern::Parse("(a"));
  EXPECT_FALSE(LogPattern::Parse(std::string(1001, 'a')));
  EXPECT_FALSE(LogPattern::Parse("((a{100}){100}){100}"));
  EXPECT_TRUE(LogPattern::Parse(".*"));
}

TEST(Search, TheFilterKnowsWhatAMatchNeeds) {
  const GramFilter filter = FilterOf("RuntimeError: CUDA error: out of memory\n");
  EXPECT_TRUE(Parsed("CUDA error")->MayMatch(filter));
  EXPECT_TRUE(Parsed("(?i)cuda ERROR")->MayMatch(filter));
  EXPECT_TRUE(Parsed("nothing|CUDA error")->MayMatch(filter));
  EXPECT_TRUE(Parsed(".*")->MayMatch(filter));
  EXPECT_TRUE(Parsed("\\d+")->MayMatch(filter));
  EXPECT_FALSE(Parsed("Segmentation fault")->MayMatch(filter));
  EXPECT_FALSE(Parsed("CUDA.*illegal access")->MayMatch(filter));
  EXPECT_FALSE(Parsed("nothing|illegal")->MayMatch(filter));
}

TEST(Search, TheFilterForgetsNoMatch) {
  rc::check([](std::string text) {
    const auto pattern = *rc::gen::element<std::string>(
        "[a-f]bcd|item.*(took|failed)", "(?i)K\\w+x", "\xc3\x84rger", "a.?b.?c", "\\bfoo12[0-9]+",
        "[^a]oo", "(?i)\xc3\xa4rger", "tAkE|gIvE");
    const auto word = *rc::gen::element<std::string>("xbcd", "item 7 FAILED took",
                                                     "\xe2\x84\xaa"
                                                     "elvinx",
                                                     "\xc3\x84rger", "abc", "foo1234", "boo foo",
                                                     "\xc3\xa4rger", "tAkE", "abcd", "kelVINX");
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    text.insert(at, word);
    const auto parsed = Parsed(pattern);
    bool matches = false;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      matches = matches || parsed->Matches(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
    if (matches) RC_ASSERT(parsed->MayMatch(FilterOf(text)));
  });
}

}  // namespace
}  // namespace tidemill
