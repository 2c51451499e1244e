// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/values.h"

#include <charconv>
#include <cstring>

#include "base/check.h"

namespace tidemill {
namespace {

// Types and their arrays, as numbered in pg_type.
constexpr Oid kBool = 16, kBytea = 17, kInt8 = 20, kInt4 = 23, kText = 25, kVarbit = 1562;
constexpr Oid kByteaArray = 1001, kInt4Array = 1007, kInt8Array = 1016, kVarbitArray = 1563,
              kUuidArray = 2951;
// PostgreSQL counts time from 2000-01-01.
constexpr std::int64_t kEpochUs = 946'684'800'000'000;

Oid ArrayOf(Oid element) {
  switch (element) {
    case kBytea:
      return kByteaArray;
    case kInt4:
      return kInt4Array;
    case kInt8:
      return kInt8Array;
    case kVarbit:
      return kVarbitArray;
    default:
      return kUuidArray;
  }
}

}  // namespace

void Params::Begin(Oid type) {
  types_.push_back(type);
  starts_.push_back(bytes_.size());
}

void Params::BeginArray(Oid element, std::size_t size) {
  Begin(ArrayOf(element));
  AppendInt(size == 0 ? 0 : 1);  // dimensions
  AppendInt(0);                  // no nulls
  AppendInt(static_cast<std::int32_t>(element));
  if (size == 0) return;
  AppendInt(static_cast<std::int32_t>(size));
  AppendInt(1);  // the first index
}

Params& Params::End() {
  lengths_.push_back(static_cast<int>(bytes_.size() - starts_.back()));
  return *this;
}

void Params::AppendInt(std::int32_t value) {
  const auto big_endian = __builtin_bswap32(static_cast<std::uint32_t>(value));
  bytes_.append(reinterpret_cast<const char*>(&big_endian), sizeof big_endian);
}

void Params::AppendBig(std::int64_t value) {
  const auto big_endian = __builtin_bswap64(static_cast<std::uint64_t>(value));
  bytes_.append(reinterpret_cast<const char*>(&big_endian), sizeof big_endian);
}

void Params::AppendUuid(std::uint64_t high, std::uint64_t low) {
  AppendBig(static_cast<std::int64_t>(high));
  AppendBig(static_cast<std::int64_t>(low));
}

void Params::AppendBits(const Bits& bits) {
  AppendInt(bits.length());
  bytes_ += bits.Bytes();
}

Params& Params::Int(std::int32_t value) {
  Begin(kInt4);
  AppendInt(value);
  return End();
}

Params& Params::Big(std::int64_t value) {
  Begin(kInt8);
  AppendBig(value);
  return End();
}

Params& Params::Flag(bool value) {
  Begin(kBool);
  bytes_.push_back(value ? 1 : 0);
  return End();
}

Params& Params::Text(std::string_view value) {
  Begin(kText);
  bytes_ += value;
  return End();
}

Params& Params::Bytes(std::string_view value) {
  Begin(kBytea);
  bytes_ += value;
  return End();
}

Params& Params::Ints(const std::vector<std::int32_t>& values) {
  BeginArray(kInt4, values.size());
  for (const std::int32_t value : values) {
    AppendInt(4);
    AppendInt(value);
  }
  return End();
}

Params& Params::Bigs(const std::vector<std::int64_t>& values) {
  BeginArray(kInt8, values.size());
  for (const std::int64_t value : values) {
    AppendInt(8);
    AppendBig(value);
  }
  return End();
}

Params& Params::BitStrings(const std::vector<Bits>& values) {
  BeginArray(kVarbit, values.size());
  for (const Bits& bits : values) {
    AppendInt(4 + (bits.length() + 7) / 8);
    AppendBits(bits);
  }
  return End();
}

Params& Params::BytesList(const std::vector<std::string_view>& values) {
  BeginArray(kBytea, values.size());
  for (const std::string_view bytes : values) {
    AppendInt(static_cast<std::int32_t>(bytes.size()));
    bytes_ += bytes;
  }
  return End();
}

std::vector<const char*> Params::Values() const {
  std::vector<const char*> values;
  values.reserve(starts_.size());
  for (const std::size_t start : starts_) values.push_back(bytes_.data() + start);
  return values;
}

std::string_view Row::NextAny() {
  TIDEMILL_CHECK(column_ < PQnfields(result_));
  TIDEMILL_CHECK(!PQgetisnull(result_, row_, column_));
  const std::string_view value(PQgetvalue(result_, row_, column_),
                               static_cast<std::size_t>(PQgetlength(result_, row_, column_)));
  ++column_;
  return value;
}

std::string_view Row::Next(int size) {
  const std::string_view value = NextAny();
  TIDEMILL_CHECK(value.size() == static_cast<std::size_t>(size));
  return value;
}

std::uint64_t Row::BigEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

std::int16_t Row::Small() { return static_cast<std::int16_t>(BigEndian(Next(2))); }
std::int32_t Row::Int() { return static_cast<std::int32_t>(BigEndian(Next(4))); }
std::int64_t Row::Big() { return static_cast<std::int64_t>(BigEndian(Next(8))); }
bool Row::Flag() { return Next(1)[0] != 0; }
std::string Row::Text() { return std::string(NextAny()); }
std::int64_t Row::Time() { return Big() + kEpochUs; }

Bits Row::BitString() {
  const std::string_view value = NextAny();
  TIDEMILL_CHECK(value.size() >= 4);
  const auto bits =
      Bits::FromBytes(static_cast<int>(BigEndian(value.substr(0, 4))), value.substr(4));
  TIDEMILL_CHECK(bits.has_value());
  return *bits;
}

std::int64_t Rows::touched() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

}  // namespace tidemill
