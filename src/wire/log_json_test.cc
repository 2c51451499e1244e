// SPDX-License-Identifier: Apache-2.0
#include "wire/log_json.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(LogJson, APageComesBackAsItWasWhateverItsBytes) {
  LogPageDoc page;
  page.item = 7;
  page.state = ItemState::kRunning;
  page.found = true;
  page.round = 1;
  page.attempt = 2;
  page.next = FormatLogNext({1, 2, 3});
  page.parts = {{.time_ms = 5, .text = "a \xc3\xa4 \"b\"\n\x01"},
                {.time_ms = 6,
                 .missing_bytes = 9,
                 .over_limit = true,
                 .lost_before = true,
                 .text = std::string("\xff\x00\xc3", 3)},
                {.time_ms = 7, .text = ""}};
  page.more = true;
  page.fetched_bytes = 12;
  const auto read = ParseLogPage(FormatLogPage(page));
  ASSERT_TRUE(read) << read.error().reason;
  ASSERT_EQ(read->parts.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read->parts[i].text, page.parts[i].text);
  EXPECT_EQ(read->parts[1].missing_bytes, 9);
  EXPECT_TRUE(read->parts[1].over_limit);
  EXPECT_TRUE(read->parts[1].lost_before);
  EXPECT_TRUE(read->found && read->more && !read->ended && !read->awaited);
  EXPECT_EQ(read->next, "1.2.3");
  EXPECT_EQ(read->state, ItemState::kRunning);
  EXPECT_FALSE(ParseLogPage(FormatLogPage({}))->found);
}

TEST(LogJson, WhereTheNextPageBeginsIsReadStrictly) {
  const auto next = ParseLogNext("1.2.3");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->parts, 3U);
  for (const char* text : {"", "1.2", "1.2.3.4", "-1.2.3", "1.2.x", "1..3", "99999999999.1.1"}) {
    EXPECT_FALSE(ParseLogNext(text)) << text;
  }
}

TEST(LogJson, HitsComeBackAsTheyWere) {
  LogHitsDoc page;
  page.hits = {{.item = 4711, .round = 0, .attempt = 1, .time_ms = 5, .line = "CUDA error"}};
  page.next = "abc=";
  page.logs = 8;
  page.text_bytes = 9;
  page.fetched_bytes = 10;
  const auto read = ParseLogHits(FormatLogHits(page));
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(read->hits.at(0).item, 4711);
  EXPECT_EQ(read->hits.at(0).line, "CUDA error");
  EXPECT_EQ(read->next, "abc=");
  EXPECT_EQ(read->fetched_bytes, 10);
}

}  // namespace
}  // namespace tidemill
