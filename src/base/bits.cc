// SPDX-License-Identifier: Apache-2.0
#include "base/bits.h"

#include <algorithm>

#include "base/check.h"

namespace tidemill {

Bits::Bits(int length) : length_(length) {
  TIDEMILL_CHECK(length >= 0);
  TIDEMILL_CHECK(length <= limits::kItemsPerChunk);
}

Bits Bits::All(int length) { return Range(length, 0, length); }

Bits Bits::Range(int length, int first, int count) {
  TIDEMILL_CHECK(first >= 0 && count >= 0 && first + count <= length);
  Bits bits(length);
  for (int i = first; i < first + count;) {
    if (i % 64 == 0 && first + count - i >= 64) {
      bits.words_[Word(i)] = ~std::uint64_t{0};
      i += 64;
    } else {
      bits.Set(i++);
    }
  }
  return bits;
}

int Bits::Count() const {
  int count = 0;
  for (int w = 0; w < UsedWords(); ++w) count += std::popcount(words_[w]);
  return count;
}

bool Bits::None() const {
  for (int w = 0; w < UsedWords(); ++w) {
    if (words_[w] != 0) return false;
  }
  return true;
}

Bits Bits::First(int count) const {
  Bits first(length_);
  for (int w = 0; w < UsedWords() && count > 0; ++w) {
    const int here = std::popcount(words_[w]);
    if (here <= count) {
      first.words_[w] = words_[w];
      count -= here;
      continue;
    }
    std::uint64_t left = words_[w];
    for (; count > 0; --count) {
      const std::uint64_t top = std::uint64_t{1} << (63 - std::countl_zero(left));
      first.words_[w] |= top;
      left &= ~top;
    }
  }
  return first;
}

int Bits::FindFrom(int from) const {
  if (from >= length_) return -1;
  std::uint64_t mask = ~std::uint64_t{0} >> (from % 64);
  for (int w = Word(from); w < UsedWords(); ++w) {
    if (const std::uint64_t word = words_[w] & mask) return w * 64 + std::countl_zero(word);
    mask = ~std::uint64_t{0};
  }
  return -1;
}

std::vector<int> Bits::Indexes() const {
  std::vector<int> indexes;
  for (int i = FindFrom(0); i >= 0; i = FindFrom(i + 1)) indexes.push_back(i);
  return indexes;
}

Bits Bits::Resized(int length) const {
  Bits resized = *this & Range(length_, 0, std::min(length, length_));
  resized.length_ = Bits(length).length_;
  return resized;
}

Bits& Bits::operator|=(const Bits& other) {
  TIDEMILL_CHECK(length_ == other.length_);
  for (int w = 0; w < UsedWords(); ++w) words_[w] |= other.words_[w];
  return *this;
}

Bits& Bits::operator&=(const Bits& other) {
  TIDEMILL_CHECK(length_ == other.length_);
  for (int w = 0; w < UsedWords(); ++w) words_[w] &= other.words_[w];
  return *this;
}

Bits& Bits::operator-=(const Bits& other) {
  TIDEMILL_CHECK(length_ == other.length_);
  for (int w = 0; w < UsedWords(); ++w) words_[w] &= ~other.words_[w];
  return *this;
}

Bits Bits::operator~() const { return All(length_) -= *this; }

bool Bits::Intersects(const Bits& other) const {
  TIDEMILL_CHECK(length_ == other.length_);
  for (int w = 0; w < UsedWords(); ++w) {
    if ((words_[w] & other.words_[w]) != 0) return true;
  }
  return false;
}

bool Bits::Contains(const Bits& other) const {
  TIDEMILL_CHECK(length_ == other.length_);
  for (int w = 0; w < UsedWords(); ++w) {
    if ((other.words_[w] & ~words_[w]) != 0) return false;
  }
  return true;
}

std::string Bits::Bytes() const {
  std::string bytes((length_ + 7) / 8, '\0');
  for (std::size_t b = 0; b < bytes.size(); ++b) {
    bytes[b] = static_cast<char>(words_[b / 8] >> (56 - 8 * (b % 8)));
  }
  return bytes;
}

std::optional<Bits> Bits::FromBytes(int length, std::string_view bytes) {
  if (length < 0 || length > limits::kItemsPerChunk) return std::nullopt;
  if (bytes.size() != static_cast<std::size_t>((length + 7) / 8)) return std::nullopt;
  Bits bits(length);
  for (std::size_t b = 0; b < bytes.size(); ++b) {
    bits.words_[b / 8] |= std::uint64_t{static_cast<unsigned char>(bytes[b])} << (56 - 8 * (b % 8));
  }
  if (length % 8 != 0) {
    const unsigned char past = static_cast<unsigned char>(bytes.back()) & (0xff >> (length % 8));
    if (past != 0) return std::nullopt;
  }
  return bits;
}

}  // namespace tidemill
