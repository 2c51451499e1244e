// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// What a text may have in it: a bit for each four bytes in a row ("gram"), by a hash. Letters count
// as small ones and digits as 0, so that numbers, which are different in each line, do not fill it;
// a search for nothing but a number is not helped by it. Grams over the end of a line, or with
// bytes that are not ASCII, are left out on both sides. Pure.
class GramFilter {
 public:
  static constexpr std::size_t kGram = 4;
  // The hash of a gram is so long; a filter uses its first bits.
  static constexpr int kHashBits = 20;
  static constexpr int kLeastBits = 9;
  static constexpr int kMostBits = 17;

  GramFilter() = default;
  // As it was stored. Of any bytes: a size that no filter has lets everything through.
  explicit GramFilter(std::string_view bytes);

  const std::string& bytes() const { return bits_; }
  // False: the text does not have it. `literal` is of small letters, as RE2 gives them.
  bool MayHave(std::string_view literal) const;

 private:
  std::string bits_;  // empty: lets everything through
  int hash_bits_ = 0;
};

// Collects the grams of a text that is given in parts.
class GramCollector {
 public:
  GramCollector() : seen_((std::size_t{1} << GramFilter::kHashBits) / 64) {}
  // A whole text: grams do not go on into the next.
  void Add(std::string_view text);
  // About half full, unless that is more than `bytes_most`.
  GramFilter Make(std::size_t bytes_most) const;

 private:
  std::vector<std::uint64_t> seen_;  // a bit a hash
  bool all_ = false;
};

}  // namespace tidemill
