// SPDX-License-Identifier: Apache-2.0
#include "wire/runs.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tidemill {
namespace {

Bits AnyBits() {
  const int length = *rc::gen::inRange(0, limits::kItemsPerChunk + 1);
  Bits bits(length);
  int at = 0;
  // Runs and gaps of any size; a gap of 0 makes runs that touch.
  for (const auto& [gap, run] : *rc::gen::container<std::vector<std::pair<int, int>>>(
           rc::gen::pair(rc::gen::inRange(0, 70), rc::gen::inRange(1, 200)))) {
    for (int i = at + gap; i < at + gap + run && i < length; ++i) bits.Set(i);
    at += gap + run;
  }
  return bits;
}

RC_GTEST_PROP(Runs, ComeBackAsTheyWent, ()) {
  const Bits bits = AnyBits();
  const auto back = ParseRuns(FormatRuns(bits), bits.length());
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == bits);
}

RC_GTEST_PROP(Runs, AnyTextIsReadOrRefused, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123,-4 9")));
  const auto read = ParseRuns(text, limits::kItemsPerChunk);
  if (!read) return;
  // Whatever was read means the same when it is written again.
  RC_ASSERT(*ParseRuns(FormatRuns(*read), limits::kItemsPerChunk) == *read);
}

TEST(Runs, AreAsShortAsTheyCanBe) {
  Bits bits = Bits::Range(2048, 0, 40);
  bits.Set(44);
  EXPECT_EQ(FormatRuns(bits), "0-39,44");
  EXPECT_EQ(FormatRuns(Bits(2048)), "");
  EXPECT_EQ(FormatRuns(Bits::All(2048)), "0-2047");
  EXPECT_EQ(FormatRuns(Bits()), "");
}

TEST(Runs, AreReadStrictly) {
  for (const char* text : {",",
                           "0,",
                           ",0",
                           "0,,1",
                           "0-",
                           "-1",
                           "00",
                           "01",
                           "0-01",
                           "3-2",
                           "5,4",
                           "0-5,5",
                           "0-5,2",
                           "4,4",
                           "2048",
                           "0-2048",
                           "9999",
                           "10000",
                           "99999999999999999999",
                           "1 ",
                           " 1",
                           "1-2-3",
                           "+1",
                           "0x1",
                           "a",
                           "1;2",
                           "0-5, 7"}) {
    const auto read = ParseRuns(text, 2048);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalid) << text;
    EXPECT_NE(read.error().reason.find("at character"), std::string::npos) << read.error().reason;
  }
  EXPECT_FALSE(ParseRuns(std::string_view("1\0", 2), 2048));
  EXPECT_FALSE(ParseRuns("3", 3));
  EXPECT_TRUE(ParseRuns("0-2", 3));
  EXPECT_TRUE(ParseRuns("", 0));
  // Runs that touch, and runs of one, are longer than they need be and yet clear.
  EXPECT_EQ(*ParseRuns("0-1,2,3-3", 2048), Bits::Range(2048, 0, 4));
}

}  // namespace
}  // namespace tidemill
