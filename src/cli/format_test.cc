// SPDX-License-Identifier: Apache-2.0
#include "cli/format.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

TEST(Format, PartsThousands) {
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Thousands(1000), "1,000");
  EXPECT_EQ(Thousands(1234567), "1,234,567");
  EXPECT_EQ(Thousands(-1234), "-1,234");
  EXPECT_EQ(Thousands(-123), "-123");
}

TEST(Format, SaysMoneyToTheCent) {
  EXPECT_EQ(MoneyText(0), "$0.00");
  EXPECT_EQ(MoneyText(1'700), "$0.0017");
  EXPECT_EQ(MoneyText(10'000), "$0.01");
  EXPECT_EQ(MoneyText(12'504'999), "$12.50");
  EXPECT_EQ(MoneyText(12'505'000), "$12.51");
  EXPECT_EQ(MoneyText(1'234'567'000'000), "$1,234,567.00");
}

TEST(Format, CountsThings) {
  EXPECT_EQ(CountOf(1, "item"), "1 item");
  EXPECT_EQ(CountOf(0, "item"), "0 items");
  EXPECT_EQ(CountOf(250'000, "item"), "250,000 items");
}

TEST(Format, SaysDurationsInTheUnitsThatMatter) {
  EXPECT_EQ(DurationText(0), "0 ms");
  EXPECT_EQ(DurationText(999), "999 ms");
  EXPECT_EQ(DurationText(1000), "1 s");
  EXPECT_EQ(DurationText(4240), "4.2 s");
  EXPECT_EQ(DurationText(9999), "10 s");
  EXPECT_EQ(DurationText(71'000), "71 s");
  EXPECT_EQ(DurationText(150'000), "2 min 30 s");
  EXPECT_EQ(DurationText(12 * 60'000), "12 min");
  EXPECT_EQ(DurationText(59 * 60'000 + 40'000), "1 h");
  EXPECT_EQ(DurationText(130 * 60'000), "2 h 10 min");
  EXPECT_EQ(DurationText((3 * 24 + 4) * 3'600'000LL), "3 d 4 h");
  EXPECT_EQ(DurationText(-5), "0 ms");
}

TEST(Format, SaysBytesInPowersOfTwo) {
  EXPECT_EQ(BytesText(812), "812 B");
  EXPECT_EQ(BytesText(1024), "1 KiB");
  EXPECT_EQ(BytesText(2'040'109'465), "1.9 GiB");
  EXPECT_EQ(BytesText(std::int64_t{16} << 30), "16 GiB");
  EXPECT_EQ(BytesText((std::int64_t{1} << 30) - 1), "1 GiB");
  EXPECT_EQ(DecimalBytesText(16'000'000), "16 MB");
}

TEST(Format, SaysCpusRatesAndPercents) {
  EXPECT_EQ(CpusText(2000), "2");
  EXPECT_EQ(CpusText(1700), "1.7");
  EXPECT_EQ(CpusText(1750), "1.75");
  EXPECT_EQ(CpusText(1), "0.001");
  EXPECT_EQ(RateText(45.13), "45.1/s");
  EXPECT_EQ(RateText(0.123), "0.12/s");
  EXPECT_EQ(RateText(1200.4), "1,200/s");
  EXPECT_EQ(PercentText(148'210, 250'000), "59 %");
  EXPECT_EQ(PercentText(249'999, 250'000), "99 %");
  EXPECT_EQ(PercentText(250'000, 250'000), "100 %");
  EXPECT_EQ(PercentText(1, 250'000), "<1 %");
  EXPECT_EQ(PercentText(0, 0), "0 %");
}

TEST(Format, SaysWhenThingsWere) {
  constexpr std::int64_t kNoon = 1'777'636'800'000;  // 2026-05-01T12:00:00Z
  EXPECT_EQ(AgoText(kNoon + 5000, kNoon), "just now");
  EXPECT_EQ(AgoText(kNoon - 4500, kNoon), "4 s ago");
  EXPECT_EQ(AgoText(kNoon - 12 * 60'000, kNoon), "12 min ago");
  EXPECT_EQ(ClockText(kNoon, kNoon, 0), "12:00");
  EXPECT_EQ(ClockText(kNoon, kNoon, 2 * 3600), "14:00");
  EXPECT_EQ(ClockText(kNoon - 24 * 3'600'000, kNoon, 0), "2026-04-30 12:00");
  // Another day in that zone, though the same in UTC.
  EXPECT_EQ(ClockText(kNoon - 3 * 3'600'000, kNoon, 13 * 3600), "2026-05-01 22:00");
}

TEST(Format, ClipsByCharactersAndNotByBytes) {
  EXPECT_EQ(WidthOf("größe"), 5u);
  EXPECT_EQ(Clip("größe", 5), "größe");
  EXPECT_EQ(Clip("größer", 5), "größ…");
  EXPECT_EQ(Clip("abc", 1), "…");
  EXPECT_EQ(Clip("abc", 0), "");
}

TEST(Format, LetsNoTextMoveTheCursor) {
  EXPECT_EQ(Printable("a\x1b[31mb\n\x7f"), "a?[31mb??");
  EXPECT_EQ(Printable("größe"), "größe");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "31m"),
            "a?31m");
}

TEST(Format, RoughTimesHaveOneUnit) {
  EXPECT_EQ(WhenText(0, 0), "now");
  EXPECT_EQ(WhenText(90'000, 0), "in 90 s");
  EXPECT_EQ(WhenText(0, 7'110'000), "119 min ago");
  EXPECT_EQ(WhenText(0, 7'200'000), "2 h ago");
  EXPECT_EQ(WhenText(90LL * 86'400'000 - 3000, 0), "in 90 d");
}

TEST(Format, LongSentencesAreBrokenAtSpaces) {
  EXPECT_EQ(Wrap("", 10), "");
  EXPECT_EQ(Wrap("one two", 10), "one two");
  EXPECT_EQ(Wrap("one two three four", 10), "one two\nthree four");
  EXPECT_EQ(Wrap("a longer-than-all b", 6), "a\nlonger-than-all\nb");
}

}  // namespace
}  // namespace tidemill::cli
