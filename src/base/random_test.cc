// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tidemill {
namespace {

std::vector<std::uint64_t> Numbers(std::uint64_t seed, std::string_view stream = "") {
  SeededRandom random(seed, stream);
  std::vector<std::uint64_t> numbers(50);
  for (std::uint64_t& number : numbers) number = random.Next();
  return numbers;
}

// Gives one number again and again.
class SameNumber : public Random {
 public:
  explicit SameNumber(std::uint64_t number) : number_(number) {}
  std::uint64_t Next() override { return number_; }

 private:
  std::uint64_t number_;
};

TEST(SeededRandom, IsSplitmix64) {
  // The first numbers of the reference implementation for the seed 1234567.
  SeededRandom random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
}

TEST(SeededRandom, GivesTheSameNumbersForTheSameSeedAndStream) {
  EXPECT_EQ(Numbers(7), Numbers(7));
  EXPECT_EQ(Numbers(7, "net"), Numbers(7, "net"));
}

TEST(SeededRandom, GivesOtherNumbersForAnotherSeedOrStream) {
  EXPECT_NE(Numbers(1, "a"), Numbers(2, "b"));
  EXPECT_NE(Numbers(7), Numbers(8));
  EXPECT_NE(Numbers(7, "net"), Numbers(8, "net"));
  EXPECT_NE(Numbers(7, "net"), Numbers(7));
  EXPECT_NE(Numbers(7, "net"), Numbers(7, "ten"));
  EXPECT_NE(Numbers(0, "agent 1"), Numbers(0, "agent 2"));
}

RC_GTEST_PROP(Random, StaysBelowTheBound, (std::uint64_t seed)) {
  const auto bound = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(1, 10),
                                     rc::gen::inRange<std::uint64_t>(1, ~std::uint64_t{0}));
  SeededRandom random(seed);
  for (int i = 0; i < 20; ++i) RC_ASSERT(random.Below(bound) < bound);
  RC_ASSERT(SameNumber(~std::uint64_t{0}).Below(bound) == bound - 1);
  RC_ASSERT(SameNumber(0).Below(bound) == 0u);
}

TEST(Random, ReachesEveryNumberBelowTheBoundAboutEquallyOften) {
  SeededRandom random(1);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100'000; ++i) ++counts[random.Below(10)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Random, GivesUnitsFromZeroToBelowOne) {
  EXPECT_EQ(SameNumber(0).Unit(), 0.0);
  EXPECT_LT(SameNumber(~std::uint64_t{0}).Unit(), 1.0);
  SeededRandom random(1);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) sum += random.Unit();
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(Random, TakesAChanceAsOftenAsItIsTold) {
  SeededRandom random(1);
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(random.Chance(0));
    EXPECT_TRUE(random.Chance(1));
    taken += random.Chance(0.25);
  }
  EXPECT_NEAR(taken, 2500, 200);
}

TEST(Random, MakesIdsOfTwoNumbers) {
  const auto id = SeededRandom(3).NewId<Id<struct ThingTag>>();
  const auto numbers = Numbers(3);
  EXPECT_EQ(id.high, numbers[0]);
  EXPECT_EQ(id.low, numbers[1]);
}

TEST(SystemRandom, DoesNotRepeatItself) {
  SystemRandom random;
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 1000; ++i) numbers.insert(random.Next());
  EXPECT_EQ(numbers.size(), 1000u);
}

}  // namespace
}  // namespace tidemill
