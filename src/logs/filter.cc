// SPDX-License-Identifier: Apache-2.0
#include "logs/filter.h"

#include <array>
#include <bit>

namespace tidemill {
namespace {

// 0: no gram has it.
constexpr std::array<std::uint8_t, 256> MakeFold() {
  std::array<std::uint8_t, 256> fold{};
  for (int c = 1; c < 128; ++c) fold[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(c);
  fold['\n'] = 0;
  for (int c = 'A'; c <= 'Z'; ++c) {
    fold[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(c - 'A' + 'a');
  }
  for (int c = '0'; c <= '9'; ++c) fold[static_cast<std::size_t>(c)] = '0';
  return fold;
}
constexpr auto kFold = MakeFold();

std::uint32_t HashOf(std::uint32_t gram) {
  return (gram * 2654435769u) >> (32 - GramFilter::kHashBits);
}

// Calls `see(hash)` for each gram, until it answers false.
template <typename See>
void EachGram(std::string_view text, See see) {
  std::uint32_t gram = 0;
  std::size_t held = 0;
  for (const char c : text) {
    const std::uint8_t folded = kFold[static_cast<unsigned char>(c)];
    held = folded == 0 ? 0 : held + 1;
    gram = gram << 8 | folded;
    if (held >= GramFilter::kGram && !see(HashOf(gram))) return;
  }
}

bool HasBit(std::string_view bits, std::uint32_t at) {
  return (static_cast<unsigned char>(bits[at / 8]) >> (at % 8) & 1) != 0;
}

}  // namespace

GramFilter::GramFilter(std::string_view bytes) {
  for (int bits = kLeastBits; bits <= kMostBits; ++bits) {
    if (bytes.size() != std::size_t{1} << (bits - 3)) continue;
    bits_ = bytes;
    hash_bits_ = bits;
  }
}

bool GramFilter::MayHave(std::string_view literal) const {
  if (bits_.empty()) return true;
  bool has_all = true;
  EachGram(literal, [&](std::uint32_t hash) {
    has_all = HasBit(bits_, hash >> (kHashBits - hash_bits_));
    return has_all;
  });
  return has_all;
}

void GramCollector::Add(std::string_view text) {
  // The two letters that are not ASCII and yet the same as one of ASCII where case does not count.
  constexpr std::string_view kKelvin = "\xe2\x84\xaa";
  constexpr std::string_view kLongS = "\xc5\xbf";
  all_ = all_ || text.find(kKelvin) != text.npos || text.find(kLongS) != text.npos;
  EachGram(text, [this](std::uint32_t hash) {
    seen_[hash / 64] |= std::uint64_t{1} << (hash % 64);
    return true;
  });
}

GramFilter GramCollector::Make(std::size_t bytes_most) const {
  if (all_) return {};
  std::size_t count = 0;
  for (const std::uint64_t word : seen_) count += static_cast<std::size_t>(std::popcount(word));
  int bits = GramFilter::kLeastBits;
  while (bits < GramFilter::kMostBits && (std::size_t{1} << bits) < 2 * count &&
         (std::size_t{1} << (bits - 2)) <= bytes_most) {
    ++bits;
  }
  std::string bytes(std::size_t{1} << (bits - 3), '\0');
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    for (std::uint64_t word = seen_[i]; word != 0; word &= word - 1) {
      const std::size_t hash = i * 64 + static_cast<std::size_t>(std::countr_zero(word));
      const std::size_t at = hash >> (GramFilter::kHashBits - bits);
      bytes[at / 8] = static_cast<char>(static_cast<unsigned char>(bytes[at / 8]) | 1u << (at % 8));
    }
  }
  return GramFilter(bytes);
}

}  // namespace tidemill
