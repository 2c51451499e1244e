// SPDX-License-Identifier: Apache-2.0
#include "rehearse/duration_spread.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kItems = 20'000;

std::vector<Duration> Drawn(std::string_view text) {
  const auto spread = DurationSpread::Parse(text);
  EXPECT_TRUE(spread.has_value()) << text;
  std::vector<Duration> drawn;
  for (int item = 0; item < kItems; ++item) drawn.push_back(spread->Draw(7, item));
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

double MeanSeconds(const std::vector<Duration>& drawn) {
  double sum = 0;
  for (const Duration one : drawn) sum += static_cast<double>(one.count()) / 1e6;
  return sum / static_cast<double>(drawn.size());
}

TEST(DurationSpread, HasTheMeanThatItsWordsSay) {
  EXPECT_DOUBLE_EQ(MeanSeconds(Drawn("90s")), 90);
  EXPECT_DOUBLE_EQ(MeanSeconds(Drawn("fixed(1m30s)")), 90);
  EXPECT_NEAR(MeanSeconds(Drawn("uniform(10s, 2m)")), 65, 1);
  EXPECT_NEAR(MeanSeconds(Drawn("exponential( 60s )")), 60, 1.5);
  EXPECT_NEAR(MeanSeconds(Drawn("normal(60s,10s)")), 60, 0.3);
  // The mean of a lognormal is its median times e^(sigma^2 / 2).
  EXPECT_NEAR(MeanSeconds(Drawn("lognormal(60s, 1)")), 98.9, 3);
}

TEST(DurationSpread, ALognormalHasItsMedianInTheMiddle) {
  const auto drawn = Drawn("lognormal(60s, 1)");
  EXPECT_NEAR(static_cast<double>(drawn[kItems / 2].count()) / 1e6, 60, 2);
}

TEST(DurationSpread, StaysInItsBounds) {
  const auto uniform = Drawn("uniform(10s, 2m)");
  EXPECT_GE(uniform.front(), seconds(10));
  EXPECT_LE(uniform.back(), seconds(120));
  // Of half of these the formula is below zero.
  EXPECT_EQ(Drawn("normal(0s, 10s)").front(), milliseconds(1));
}

TEST(DurationSpread, AnItemTakesAsLongEachTime) {
  const auto spread = DurationSpread::Parse("lognormal(60s, 1)");
  EXPECT_EQ(spread->Draw(7, 5), spread->Draw(7, 5));
  EXPECT_NE(spread->Draw(7, 5), spread->Draw(7, 6));
  EXPECT_NE(spread->Draw(7, 5), spread->Draw(8, 5));
}

TEST(DurationSpread, IsAsItWasMeasured) {
  const auto spread =
      DurationSpread::Measured({{seconds(1), seconds(2), 3}, {seconds(100), seconds(101), 1}});
  int is_long = 0;
  for (int item = 0; item < 4000; ++item) {
    const Duration one = spread->Draw(1, item);
    EXPECT_TRUE(one <= seconds(2) || one >= seconds(100));
    is_long += one >= seconds(100) ? 1 : 0;
  }
  EXPECT_NEAR(is_long, 1000, 100);
  EXPECT_FALSE(DurationSpread::Measured({}));
}

TEST(DurationSpread, RefusesWhatItCannotRead) {
  for (const char* text : {"", "60", "gamma(1s)", "uniform(2m, 10s)", "uniform(1s)", "60s)",
                           "lognormal(60s, x)", "lognormal(60s, 99)", "exponential(60s"}) {
    const auto spread = DurationSpread::Parse(text);
    ASSERT_FALSE(spread) << text;
    EXPECT_NE(spread.error().reason.find("write 60s"), std::string::npos);
  }
}

}  // namespace
}  // namespace tidemill
