// SPDX-License-Identifier: Apache-2.0
#include "model/token.h"

#include <cstdint>

#include "base/digest.h"

namespace tidemill {
namespace {

constexpr int kWords = 4;
constexpr int kDigitsPerWord = 16;
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string MakeToken(std::string_view prefix, Random& random) {
  std::string token(prefix);
  for (int i = 0; i < kWords; ++i) {
    const std::uint64_t word = random.Next();
    for (int shift = 60; shift >= 0; shift -= 4) token.push_back(kDigits[(word >> shift) & 15]);
  }
  return token;
}

bool IsToken(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return text.size() == kWords * kDigitsPerWord &&
         text.find_first_not_of(kDigits) == std::string_view::npos;
}

std::string HashToken(std::string_view token) { return Sha256(token); }

}  // namespace tidemill
