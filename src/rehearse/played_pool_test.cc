// SPDX-License-Identifier: Apache-2.0
#include "rehearse/played_pool.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(PlayedPool, SaysAllOfItsMachines) {
  const auto pool = ParsePlayedPool(
      "name=spot,cpus=3.5,memory=16GiB,min=1,max=2000,price=0.05,boot=90s,idle=1m,"
      "billed_at_least=5s,spot");
  ASSERT_TRUE(pool) << pool.error().reason;
  EXPECT_EQ(pool->name, "spot");
  EXPECT_EQ(pool->machines.shape.millicpus, 3500);
  EXPECT_EQ(pool->machines.shape.memory_bytes, std::int64_t{16} << 30);
  EXPECT_EQ(pool->machines.min, 1);
  EXPECT_EQ(pool->machines.max, 2000);
  EXPECT_EQ(pool->machines.price.micros, 50'000);
  EXPECT_EQ(pool->boot, seconds(90));
  EXPECT_EQ(pool->machines.idle, minutes(1));
  EXPECT_EQ(pool->machines.billed_at_least, seconds(5));
  EXPECT_TRUE(pool->machines.spot);
}

TEST(PlayedPool, HasDefaults) {
  const auto pool = ParsePlayedPool("name=lab,cpus=2,max=3");
  ASSERT_TRUE(pool) << pool.error().reason;
  EXPECT_FALSE(pool->machines.spot);
  EXPECT_EQ(pool->machines.price, Money{});
  EXPECT_EQ(pool->machines.shape.memory_bytes / 1'000'000, (std::int64_t{8} << 30) / 1'000'000);
  EXPECT_EQ(pool->machines.idle, minutes(5));
}

TEST(PlayedPool, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no name"},
      {"name=a,max=3", "how many cpus"},
      {"name=a,cpus=2", "max=100"},
      {"name=a,cpus=2,max=3,colour=red", "no 'colour'"},
      {"name=a,cpus=two,max=3", "'cpus=two'"},
      {"name=a,cpus=2,max=3,boot=60", "'boot=60'"},
      {"name=a,cpus=2,min=4,max=3", "min is more"},
      {"name=a b,cpus=2,max=3", "'name=a b'"},
      {"name=a,cpus=2,max=3,spot=yes", "'spot=yes'"},
  };
  for (const auto& [text, words] : cases) {
    const auto pool = ParsePlayedPool(text);
    ASSERT_FALSE(pool) << text;
    EXPECT_NE(pool.error().reason.find(words), std::string::npos) << pool.error().reason;
  }
}

}  // namespace
}  // namespace tidemill
