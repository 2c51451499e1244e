// SPDX-License-Identifier: Apache-2.0
#include "report/block.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/random.h"

namespace tidemill {
namespace {

constexpr std::int64_t kMostInBlock = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::int64_t AnyNumber(std::int64_t from) {
  return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 1000),
                         rc::gen::inRange<std::int64_t>(from, kMostInBlock),
                         rc::gen::elementOf(std::vector<std::int64_t>{from, kMostInBlock, 0}));
}

Outcome AnyOutcome() {
  constexpr std::int32_t kMost32 = std::numeric_limits<std::int32_t>::max();
  Outcome row;
  row.item = AnyNumber(0);
  row.round = *rc::gen::oneOf(rc::gen::just(0), rc::gen::inRange(0, 4), rc::gen::just(kMost32));
  row.attempt = *rc::gen::oneOf(rc::gen::inRange(0, 4), rc::gen::just(kMost32));
  row.cause = static_cast<Cause>(*rc::gen::inRange(0, kCauses));
  row.exit = *rc::gen::oneOf(rc::gen::inRange(0, 256), rc::gen::arbitrary<std::int32_t>());
  row.start_ms = AnyNumber(kLeast);
  row.duration_ms = AnyNumber(0);
  row.cpu_ms = AnyNumber(0);
  row.memory_bytes = AnyNumber(0);
  row.machine = *rc::gen::elementOf(
      std::vector<std::string>{"", "a", "b", std::string(128, 'm'), std::string(3, '\0')});
  const auto text = rc::gen::elementOf(
      std::vector<std::string>{"", "a", "{\"score\":0.5}", std::string("\0\xff", 2)});
  row.log = *text;
  row.error = *text;
  row.result = *text;
  row.devices = *text;
  return row;
}

std::vector<Outcome> SomeRows(int count, std::uint64_t seed = 1) {
  SeededRandom random(seed);
  std::vector<Outcome> rows;
  for (int i = 0; i < count; ++i) {
    Outcome row;
    row.item = 1'000'000 + i;
    row.start_ms = 1'700'000'000'000 + i * 40;
    row.duration_ms = static_cast<std::int64_t>(500 + random.Below(4000));
    row.cpu_ms = row.duration_ms - 20;
    row.memory_bytes = static_cast<std::int64_t>(100'000'000 + random.Below(50'000'000));
    row.machine = "i-0123456789abcdef0";
    if (random.Below(50) == 0) {
      row.cause = Cause::kFailed;
      row.exit = 137;
      row.attempt = 2;
    }
    rows.push_back(row);
  }
  return rows;
}

// A block with whatever columns, as another writer might make it.
class HandMade {
 public:
  explicit HandMade(std::uint64_t rows, std::uint64_t version = 1) {
    bytes_ = "tmob";
    PutVarint(bytes_, version);
    PutVarint(bytes_, rows);
  }
  HandMade& Column(std::uint64_t id, std::string_view data) {
    PutVarint(bytes_, id);
    PutVarint(bytes_, data.size());
    bytes_ += data;
    return *this;
  }
  HandMade& Bytes(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  Result<std::vector<Outcome>> Decode() const { return DecodeBlock(Compress(bytes_)); }

 private:
  std::string bytes_;
};

std::string Varints(std::initializer_list<std::uint64_t> values) {
  std::string out;
  for (const std::uint64_t value : values) PutVarint(out, value);
  return out;
}

void ExpectInvalid(const Result<std::vector<Outcome>>& result, std::string_view why) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kInvalid);
  EXPECT_NE(result.error().reason.find(why), std::string::npos) << result.error().reason;
}

RC_GTEST_PROP(Block, GivesBackTheRowsItWasMadeOf, ()) {
  const auto rows = *rc::gen::container<std::vector<Outcome>>(rc::gen::exec(AnyOutcome));
  const auto decoded = DecodeBlock(EncodeBlock(rows));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == rows);
}

TEST(Block, HoldsNoRows) {
  const auto decoded = DecodeBlock(EncodeBlock({}));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(decoded->empty());
}

TEST(Block, HoldsAsManyOfTheLargestRowsAsTheLimitAllows) {
  std::vector<Outcome> rows(kBlockRows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].item = i % 2 == 0 ? 0 : kMostInBlock;
    rows[i].round = rows[i].attempt = std::numeric_limits<std::int32_t>::max();
    rows[i].cause = Cause::kLost;
    rows[i].exit = std::numeric_limits<std::int32_t>::min();
    rows[i].start_ms = i % 2 == 0 ? kLeast : kMostInBlock;
    rows[i].duration_ms = rows[i].cpu_ms = rows[i].memory_bytes = kMostInBlock;
    rows[i].machine = std::to_string(i);
    rows[i].machine.resize(limits::kMachineNameBytes, 'x');
    rows[i].log = rows[i].error = std::to_string(i);
    rows[i].log.resize(kLogNameBytes, 'y');
    rows[i].error.resize(kErrorBytes, 'z');
    rows[i].devices = std::to_string(i);
    rows[i].devices.resize(kOutcomeDevicesBytes, 'd');
    if (i >= limits::kItemsPerChunk) continue;
    rows[i].result = std::to_string(i);
    rows[i].result.resize(kResultBytes, '1');
  }
  const auto decoded = DecodeBlock(EncodeBlock(rows));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(*decoded == rows);
}

TEST(Block, WritesTheSameBytesForTheSameRows) {
  EXPECT_EQ(EncodeBlock(SomeRows(100)), EncodeBlock(SomeRows(100)));
}

TEST(Block, NeedsFewBytesForARow) {
  EXPECT_LT(EncodeBlock(SomeRows(40)).size(), 40 * 12);
  EXPECT_LT(EncodeBlock(SomeRows(2048)).size(), 2048 * 10);
}

TEST(Block, WritesNumbersBelowZeroAsZeroWhereNoneCanBe) {
  Outcome row;
  row.item = row.duration_ms = row.cpu_ms = row.memory_bytes = kLeast;
  row.attempt = -1;
  row.exit = -1;
  row.start_ms = -1;
  Outcome expected;
  expected.attempt = 0;
  expected.exit = -1;
  expected.start_ms = -1;
  const auto decoded = DecodeBlock(EncodeBlock({&row, 1}));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, std::vector{expected});
}

TEST(Block, TakesDefaultsForColumnsThatAreMissing) {
  const auto decoded = HandMade(2).Column(1, Varints({10, 2})).Decode();  // 5, then 1 more
  ASSERT_TRUE(decoded.has_value());
  Outcome five, six;
  five.item = 5;
  six.item = 6;
  EXPECT_EQ(*decoded, (std::vector{five, six}));
}

TEST(Block, SkipsColumnsOfANewerWriter) {
  const auto decoded = HandMade(1)
                           .Column(77, "whatever it is")
                           .Column(6, Varints({250}))
                           .Column(~std::uint64_t{0}, "")
                           .Column(1, Varints({10}))
                           .Decode();
  ASSERT_TRUE(decoded.has_value());
  Outcome row;
  row.item = 5;
  row.duration_ms = 250;
  EXPECT_EQ(*decoded, std::vector{row});
}

TEST(Block, RefusesWhatIsNoBlock) {
  ExpectInvalid(DecodeBlock(""), "zstd");
  ExpectInvalid(DecodeBlock("tmob"), "zstd");
  ExpectInvalid(DecodeBlock(Compress("")), "not a column block");
  ExpectInvalid(DecodeBlock(Compress("tmox")), "not a column block");
  ExpectInvalid(DecodeBlock(Compress("tmob")), "ends early");
  ExpectInvalid(HandMade(0, 2).Decode(), "version 2");
}

TEST(Block, RefusesAClaimOfTooManyRowsBeforeItMakesRoom) {
  ExpectInvalid(HandMade(kBlockRows + 1).Decode(), "too many rows");
  ExpectInvalid(HandMade(~std::uint64_t{0}).Decode(), "too many rows");
  // Rows that take no bytes would make a few bytes claim much memory.
  ExpectInvalid(HandMade(kBlockRows).Decode(), "without the column of items");
  ExpectInvalid(HandMade(kBlockRows).Column(1, "x").Decode(), "column 1");
}

TEST(Block, RefusesAFrameThatUnpacksToMoreThanTheLimit) {
  ExpectInvalid(DecodeBlock(Compress(std::string(kBlockBytes + 1, 't'))), "more than is allowed");
}

TEST(Block, RefusesColumnsThatAreTwiceCutOrTooLong) {
  ExpectInvalid(HandMade(1).Column(1, Varints({0})).Column(1, Varints({0})).Decode(), "twice");
  ExpectInvalid(HandMade(1).Bytes(Varints({1, 5})).Bytes("x").Decode(), "ends early");
  ExpectInvalid(HandMade(1).Bytes(Varints({1, ~std::uint64_t{0}})).Decode(), "ends early");
  ExpectInvalid(HandMade(1).Column(1, Varints({0, 0})).Decode(), "column 1");
  ExpectInvalid(HandMade(2).Column(1, Varints({0})).Decode(), "column 1");
  ExpectInvalid(HandMade(0).Column(1, Varints({0})).Decode(), "column 1");
}

TEST(Block, RefusesNumbersThatCannotBe) {
  const auto with = [](std::uint64_t column, std::uint64_t value) {
    return HandMade(1).Column(1, Varints({0})).Column(column, Varints({value})).Decode();
  };
  const std::uint64_t past_64 = std::uint64_t{1} << 63;
  const std::uint64_t past_32 = std::uint64_t{1} << 31;
  ExpectInvalid(HandMade(1).Column(1, Varints({1})).Decode(), "column 1");  // item -1
  ExpectInvalid(with(2, past_32), "column 2");
  ExpectInvalid(with(3, kCauses), "column 3");
  ExpectInvalid(with(4, past_32 << 1), "column 4");
  ExpectInvalid(with(6, past_64), "column 6");
  ExpectInvalid(with(7, past_64), "column 7");
  ExpectInvalid(with(8, past_64), "column 8");
  EXPECT_TRUE(with(2, past_32 - 1).has_value());
  EXPECT_TRUE(with(8, past_64 - 1).has_value());
}

TEST(Block, RefusesMachinesThatAreTooManyTooLongOrNotThere) {
  const auto with = [](const std::string& machines) {
    return HandMade(2).Column(1, Varints({0, 0})).Column(9, machines).Decode();
  };
  EXPECT_TRUE(with(Varints({2, 1}) + "a" + Varints({1}) + "b" + Varints({1, 0})).has_value());
  ExpectInvalid(with(Varints({3, 0, 0, 0, 0, 0})), "column 9");
  ExpectInvalid(with(Varints({1, 1}) + "a" + Varints({0, 1})), "column 9");
  ExpectInvalid(with(Varints({1, 1}) + "a" + Varints({0})), "column 9");
  ExpectInvalid(with(Varints({1, 1}) + "a" + Varints({0, 0, 0})), "column 9");
  ExpectInvalid(with(Varints({1, 129}) + std::string(129, 'a') + Varints({0, 0})), "column 9");
  ExpectInvalid(with(Varints({1, 100}) + "short"), "column 9");
  ExpectInvalid(with(Varints({0, 0, 0})), "column 9");
}

TEST(Block, RefusesEveryTruncation) {
  const std::string frame = EncodeBlock(SomeRows(60));
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(DecodeBlock(std::string_view(frame).substr(0, size)).has_value()) << size;
  }
  const auto unpacked = Decompress(frame, kBlockBytes);
  ASSERT_TRUE(unpacked.has_value());
  for (std::size_t size = 0; size < unpacked->size(); ++size) {
    // Cut between two columns it is still a block, so only the number of rows is sure.
    const auto rows = DecodeBlock(Compress(std::string_view(*unpacked).substr(0, size)));
    if (rows) {
      EXPECT_EQ(rows->size(), 60u) << size;
    }
  }
}

TEST(Block, SurvivesEveryFlippedBit) {
  const std::string frame = EncodeBlock(SomeRows(20));
  const std::string unpacked = Decompress(frame, kBlockBytes).value();
  for (std::size_t bit = 0; bit < unpacked.size() * 8; ++bit) {
    std::string flipped = unpacked;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    if (const auto rows = DecodeBlock(Compress(flipped, 1))) {
      EXPECT_LE(rows->size(), flipped.size());
    }
  }
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string flipped = frame;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    if (const auto rows = DecodeBlock(flipped)) {
      EXPECT_LE(rows->size(), kBlockRows);
    }
  }
}

RC_GTEST_PROP(Block, SurvivesAnyBytes, (const std::string& bytes)) {
  RC_ASSERT(!DecodeBlock(bytes).has_value());
  std::string inside = "tmob\x01";
  if (const auto rows = DecodeBlock(Compress(inside + bytes))) {
    RC_ASSERT(rows->size() <= bytes.size());
  }
}

// The causes are numbers that older programs have written: they must go on meaning the same.
TEST(Block, TheNumbersOfCausesStayAsTheyAre) {
  EXPECT_EQ(static_cast<int>(Cause::kSucceeded), 0);
  EXPECT_EQ(static_cast<int>(Cause::kFailed), 1);
  EXPECT_EQ(static_cast<int>(Cause::kLost), 2);
  EXPECT_EQ(static_cast<int>(Cause::kTimeout), 3);
  for (int i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(ParseCause(CauseName(cause)), cause);
  }
  EXPECT_EQ(ParseCause("bored"), std::nullopt);
}

}  // namespace
}  // namespace tidemill
