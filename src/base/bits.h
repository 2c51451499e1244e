// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"

namespace tidemill {

// A string of 0 to 2,048 bits: the state of a chunk's items, one plane. A value of fixed size, no
// heap. Operations on two strings need equal lengths. Bits past the length are always zero, so
// counting and comparing need no mask.
class Bits {
 public:
  Bits() = default;
  explicit Bits(int length);
  static Bits All(int length);
  // Bits [first, first + count) of a string of `length`.
  static Bits Range(int length, int first, int count);

  int length() const { return length_; }
  bool Get(int i) const { return (words_[Word(i)] >> Shift(i)) & 1; }
  void Set(int i) { words_[Word(i)] |= std::uint64_t{1} << Shift(i); }
  void Clear(int i) { words_[Word(i)] &= ~(std::uint64_t{1} << Shift(i)); }

  int Count() const;
  bool None() const;
  bool Any() const { return !None(); }

  // The first `count` bits that are set, or all if there are fewer.
  Bits First(int count) const;
  // The first set bit at or after `from`, or -1.
  int FindFrom(int from) const;
  std::vector<int> Indexes() const;
  // The same bits in a string of another length; those past it are dropped.
  Bits Resized(int length) const;

  Bits& operator|=(const Bits& other);
  Bits& operator&=(const Bits& other);
  // Takes away the bits of `other`.
  Bits& operator-=(const Bits& other);
  friend Bits operator|(Bits a, const Bits& b) { return a |= b; }
  friend Bits operator&(Bits a, const Bits& b) { return a &= b; }
  friend Bits operator-(Bits a, const Bits& b) { return a -= b; }
  Bits operator~() const;
  bool operator==(const Bits& other) const = default;

  bool Intersects(const Bits& other) const;
  bool Contains(const Bits& other) const;

  // The bytes as PostgreSQL keeps them: the first bit is the highest of the first byte.
  std::string Bytes() const;
  // Fails if the size does not fit the length, or a bit past the length is set.
  static std::optional<Bits> FromBytes(int length, std::string_view bytes);

 private:
  static constexpr int kWords = limits::kItemsPerChunk / 64;
  static int Word(int i) { return i / 64; }
  static int Shift(int i) { return 63 - i % 64; }
  int UsedWords() const { return (length_ + 63) / 64; }

  int length_ = 0;
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace tidemill
