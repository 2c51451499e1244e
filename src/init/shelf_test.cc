// SPDX-License-Identifier: Apache-2.0
#include "init/shelf.h"

#include <gtest/gtest.h>

namespace tidemill::init {
namespace {

WaitingItem ItemOf(std::uint64_t number, bool alone = false) {
  return {.number = number, .name = 100 + number, .alone = alone, .json = std::to_string(number)};
}

std::string Take(Shelf& shelf, std::size_t most) { return shelf.Take(most, {.now_us = 1'000}); }

TEST(Shelf, HandsOverInOrderAndNoMoreThanAsked) {
  Shelf shelf;
  for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_TRUE(shelf.Add(ItemOf(i)));
  EXPECT_EQ(Take(shelf, 2), "1,2");
  EXPECT_EQ(Take(shelf, 9), "3,4,5");
  EXPECT_EQ(Take(shelf, 9), "");
  EXPECT_EQ(shelf.held().size(), 5U);
}

TEST(Shelf, GivesAnItemThatIsAloneNoCompany) {
  Shelf shelf;
  shelf.Add(ItemOf(1));
  shelf.Add(ItemOf(2, true));
  shelf.Add(ItemOf(3));
  EXPECT_EQ(Take(shelf, 9), "1");
  EXPECT_FALSE(shelf.MayTake());
  EXPECT_TRUE(shelf.Release({101}));
  EXPECT_EQ(Take(shelf, 9), "2");
  EXPECT_FALSE(shelf.MayTake());
  EXPECT_TRUE(shelf.Release({102}));
  EXPECT_EQ(Take(shelf, 9), "3");
}

TEST(Shelf, HandsOverNoTwoOfOneName) {
  Shelf shelf;
  WaitingItem first = ItemOf(1);
  WaitingItem again = ItemOf(2);
  again.name = first.name;
  shelf.Add(first);
  shelf.Add(again);
  EXPECT_EQ(Take(shelf, 9), "1");
  EXPECT_EQ(shelf.Release({first.name})->front().number, 1U);
  EXPECT_EQ(Take(shelf, 9), "2");
}

TEST(Shelf, LetsGoOfAllThatAreNamedOrOfNone) {
  Shelf shelf;
  for (std::uint64_t i = 1; i <= 3; ++i) shelf.Add(ItemOf(i));
  Take(shelf, 3);
  EXPECT_FALSE(shelf.Release({101, 104}));
  EXPECT_FALSE(shelf.Release({101, 101}));
  EXPECT_EQ(shelf.held().size(), 3U);
  EXPECT_EQ(shelf.Release({103, 101})->size(), 2U);
  EXPECT_FALSE(shelf.Release({101}));
  EXPECT_EQ(shelf.held().front().number, 2U);
}

TEST(Shelf, KnowsWhoseTimeIsOver) {
  Shelf shelf;
  WaitingItem timed = ItemOf(1);
  timed.timeout_us = 500;
  timed.grace_us = 7;
  shelf.Add(timed);
  shelf.Add(ItemOf(2));
  WaitingItem longest = ItemOf(3);
  longest.timeout_us = kNever;
  shelf.Add(longest);
  Take(shelf, 3);
  EXPECT_EQ(shelf.deadline_us(), 1'500);
  EXPECT_EQ(shelf.TimeOut(1'499), std::nullopt);
  EXPECT_EQ(shelf.TimeOut(1'500), 7);
  EXPECT_TRUE(shelf.held()[0].timed_out);
  EXPECT_EQ(shelf.TimeOut(2'000), std::nullopt);
  EXPECT_EQ(shelf.deadline_us(), kNever);
}

TEST(Shelf, HoldsNoMoreThanItMay) {
  Shelf shelf;
  for (std::uint64_t i = 1; i <= Shelf::kItemsMost; ++i) EXPECT_TRUE(shelf.Add(ItemOf(i)));
  EXPECT_FALSE(shelf.Add(ItemOf(5000)));
  Take(shelf, 10);
  EXPECT_FALSE(shelf.Add(ItemOf(5000)));
  EXPECT_TRUE(shelf.Drop(20));
  EXPECT_FALSE(shelf.Drop(20));
  EXPECT_FALSE(shelf.Drop(1));
  EXPECT_TRUE(shelf.Add(ItemOf(5000)));
  Shelf heavy;
  WaitingItem large = ItemOf(1);
  large.json = std::string(Shelf::kWaitingBytesMost, 'x');
  EXPECT_TRUE(heavy.Add(large));
  EXPECT_FALSE(heavy.Add(ItemOf(2)));
  heavy.DropFirst();
  EXPECT_TRUE(heavy.Add(ItemOf(2)));
}

}  // namespace
}  // namespace tidemill::init
