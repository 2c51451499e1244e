// SPDX-License-Identifier: Apache-2.0
#include "rehearse/samples.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Samples, AreEvenHoweverManyCome) {
  Samples samples;
  for (int i = 0; i < 10'000; ++i) samples.Add({std::chrono::seconds(i), i, 0, 0});
  const auto& moments = samples.moments();
  ASSERT_GT(moments.size(), Samples::kMost / 2);
  ASSERT_LE(moments.size(), Samples::kMost);
  const Duration step = moments[1].at - moments[0].at;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    EXPECT_EQ(moments[i].at - moments[i - 1].at, step);
  }
  EXPECT_EQ(moments.front().at, Duration::zero());
  EXPECT_GT(moments.back().at, std::chrono::seconds(10'000) - 2 * step);
}

}  // namespace
}  // namespace tidemill
