// SPDX-License-Identifier: Apache-2.0
#include "base/bits.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tidemill {
namespace {

using Model = std::vector<bool>;

int AnyLength() {
  return *rc::gen::oneOf(
      rc::gen::elementOf(std::vector<int>{0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 2047, 2048}),
      rc::gen::inRange(0, limits::kItemsPerChunk + 1));
}

// Bits that are sparse, dense or in between.
Model AnyModel(int length) {
  const int percent = *rc::gen::elementOf(std::vector<int>{0, 3, 50, 97, 100});
  auto state = *rc::gen::arbitrary<std::uint32_t>();
  Model model(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < model.size(); ++i) {
    state = state * 1664525 + 1013904223;
    model[i] = static_cast<int>((state >> 8) % 100) < percent;
  }
  return model;
}

Bits BitsOf(const Model& model) {
  Bits bits(static_cast<int>(model.size()));
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (model[i]) bits.Set(static_cast<int>(i));
  }
  return bits;
}

Model ModelOf(const Bits& bits) {
  Model model(static_cast<std::size_t>(bits.length()));
  for (std::size_t i = 0; i < model.size(); ++i) model[i] = bits.Get(static_cast<int>(i));
  return model;
}

template <typename Operation>
Model Each(const Model& a, const Model& b, Operation operation) {
  Model out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = operation(a[i], b[i]);
  return out;
}

RC_GTEST_PROP(Bits, HoldsWhatWasSetAndCleared, ()) {
  const int length = *rc::gen::inRange(1, limits::kItemsPerChunk + 1);
  Bits bits(length);
  Model model(static_cast<std::size_t>(length));
  const auto moves = *rc::gen::container<std::vector<std::pair<int, bool>>>(
      rc::gen::pair(rc::gen::inRange(0, length), rc::gen::arbitrary<bool>()));
  for (const auto& [i, on] : moves) {
    on ? bits.Set(i) : bits.Clear(i);
    model[static_cast<std::size_t>(i)] = on;
  }
  RC_ASSERT(ModelOf(bits) == model);
  RC_ASSERT(bits == BitsOf(model));
  RC_ASSERT(bits.length() == length);
}

RC_GTEST_PROP(Bits, CountsFindsAndListsWhatIsSet, ()) {
  const Model model = AnyModel(AnyLength());
  const Bits bits = BitsOf(model);
  std::vector<int> indexes;
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (model[i]) indexes.push_back(static_cast<int>(i));
  }
  RC_ASSERT(bits.Count() == static_cast<int>(indexes.size()));
  RC_ASSERT(bits.None() == indexes.empty());
  RC_ASSERT(bits.Any() == !indexes.empty());
  RC_ASSERT(bits.Indexes() == indexes);
  for (int from = 0; from <= bits.length() + 1; ++from) {
    const auto next = std::lower_bound(indexes.begin(), indexes.end(), from);
    RC_ASSERT(bits.FindFrom(from) == (next == indexes.end() ? -1 : *next));
  }
}

RC_GTEST_PROP(Bits, GivesItsFirstBits, ()) {
  const Model model = AnyModel(AnyLength());
  const int count = *rc::gen::oneOf(rc::gen::inRange(0, 70), rc::gen::inRange(0, 2100));
  Model first(model.size());
  int left = count;
  for (std::size_t i = 0; i < model.size() && left > 0; ++i) {
    if (!model[i]) continue;
    first[i] = true;
    --left;
  }
  RC_ASSERT(ModelOf(BitsOf(model).First(count)) == first);
}

TEST(Bits, GivesNoneAsItsFirstIfNoneAreWanted) {
  EXPECT_TRUE(Bits::All(100).First(0).None());
  EXPECT_TRUE(Bits::All(100).First(-1).None());
  EXPECT_EQ(Bits::All(100).First(0).length(), 100);
}

RC_GTEST_PROP(Bits, JoinsCutsAndTakesAwayLikeSets, ()) {
  const int length = AnyLength();
  const Model a = AnyModel(length);
  const Model b = AnyModel(length);
  const Bits x = BitsOf(a);
  const Bits y = BitsOf(b);
  RC_ASSERT(ModelOf(x | y) == Each(a, b, [](bool p, bool q) { return p || q; }));
  RC_ASSERT(ModelOf(x & y) == Each(a, b, [](bool p, bool q) { return p && q; }));
  RC_ASSERT(ModelOf(x - y) == Each(a, b, [](bool p, bool q) { return p && !q; }));
  RC_ASSERT(ModelOf(~x) == Each(a, b, [](bool p, bool) { return !p; }));
  RC_ASSERT((~x).Count() == length - x.Count());  // nothing is set past the length
  RC_ASSERT(x.Intersects(y) == (x & y).Any());
  RC_ASSERT(x.Contains(y) == ((x | y) == x));
  RC_ASSERT((x == y) == (a == b));
}

TEST(Bits, OfDifferentLengthsAreNotEqual) { EXPECT_NE(Bits(3), Bits(4)); }

RC_GTEST_PROP(Bits, MakesRanges, ()) {
  const int length = AnyLength();
  const int first = *rc::gen::inRange(0, length + 1);
  const int count = *rc::gen::inRange(0, length - first + 1);
  Model model(static_cast<std::size_t>(length));
  std::fill_n(model.begin() + first, count, true);
  RC_ASSERT(ModelOf(Bits::Range(length, first, count)) == model);
  RC_ASSERT(Bits::All(length).Count() == length);
}

RC_GTEST_PROP(Bits, KeepsItsBitsInAnotherLengthAndDropsThosePastIt, ()) {
  Model model = AnyModel(AnyLength());
  const int length = AnyLength();
  const Bits resized = BitsOf(model).Resized(length);
  model.resize(static_cast<std::size_t>(length));
  RC_ASSERT(resized == BitsOf(model));
}

RC_GTEST_PROP(Bits, ComesBackFromItsBytes, ()) {
  const Bits bits = BitsOf(AnyModel(AnyLength()));
  const std::string bytes = bits.Bytes();
  RC_ASSERT(bytes.size() == static_cast<std::size_t>((bits.length() + 7) / 8));
  RC_ASSERT(Bits::FromBytes(bits.length(), bytes) == bits);
}

TEST(Bits, HasItsFirstBitAtTheTopOfTheFirstByte) {
  Bits bits(12);
  bits.Set(0);
  bits.Set(9);
  EXPECT_EQ(bits.Bytes(), std::string("\x80\x40"));
}

TEST(Bits, RefusesBytesThatDoNotFitTheLength) {
  EXPECT_EQ(Bits::FromBytes(8, ""), std::nullopt);
  EXPECT_EQ(Bits::FromBytes(8, "ab"), std::nullopt);
  EXPECT_EQ(Bits::FromBytes(9, "a"), std::nullopt);
  EXPECT_EQ(Bits::FromBytes(0, "a"), std::nullopt);
  EXPECT_EQ(Bits::FromBytes(-1, ""), std::nullopt);
  EXPECT_EQ(Bits::FromBytes(-8, ""), std::nullopt);
  EXPECT_EQ(Bits::FromBytes(2049, std::string(257, '\0')), std::nullopt);
  EXPECT_EQ(Bits::FromBytes(0, ""), Bits());
  EXPECT_EQ(Bits::FromBytes(2048, std::string(256, '\xff')), Bits::All(2048));
}

TEST(Bits, RefusesABitPastTheLength) {
  EXPECT_EQ(Bits::FromBytes(3, "\xe0"), Bits::All(3));
  for (const char* bytes : {"\xf0", "\x10", "\x01"}) {
    EXPECT_EQ(Bits::FromBytes(3, bytes), std::nullopt);
  }
}

TEST(BitsDeathTest, StopsOnLengthsThatDiffer) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Bits bits(3);
  EXPECT_DEATH(bits |= Bits(4), "length_ == other.length_");
  EXPECT_DEATH(bits &= Bits(4), "length_ == other.length_");
  EXPECT_DEATH(bits -= Bits(4), "length_ == other.length_");
  EXPECT_DEATH(Bits(2049), "kItemsPerChunk");
}

}  // namespace
}  // namespace tidemill
