// SPDX-License-Identifier: Apache-2.0
#include "registry/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace tidemill {
namespace {

using Four = std::array<std::uint8_t, 4>;
using Six = std::array<std::uint8_t, 16>;

template <typename Bytes>
struct Block {
  Bytes begin;
  int bits;
};

// Those that IANA's registry of special addresses does not call globally reachable, and multicast.
constexpr Block<Four> kInnerFour[] = {
    {{0, 0, 0, 0}, 8},      {{10, 0, 0, 0}, 8},     {{100, 64, 0, 0}, 10}, {{127, 0, 0, 0}, 8},
    {{169, 254, 0, 0}, 16}, {{172, 16, 0, 0}, 12},  {{192, 0, 0, 0}, 24},  {{192, 0, 2, 0}, 24},
    {{192, 88, 99, 0}, 24}, {{192, 168, 0, 0}, 16}, {{198, 18, 0, 0}, 15}, {{198, 51, 100, 0}, 24},
    {{203, 0, 113, 0}, 24}, {{224, 0, 0, 0}, 4},    {{240, 0, 0, 0}, 4},
};
// Of IPv6 only 2000::/3 is handed out at all. In it: what is kept for protocols (with Teredo), for
// documents, and 6to4, which carries any IPv4 address.
constexpr Block<Six> kOuterSix = {{0x20}, 3};
constexpr Block<Six> kInnerSix[] = {
    {{0x20, 0x01}, 23},
    {{0x20, 0x01, 0x0d, 0xb8}, 32},
    {{0x20, 0x02}, 16},
    {{0x3f, 0xff}, 20},
};
constexpr Block<Six> kMapped = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
// RFC 6052: a gateway makes an IPv4 address of its last four bytes.
constexpr Block<Six> kTranslated = {{0, 0x64, 0xff, 0x9b}, 96};

template <typename Bytes>
bool IsIn(const Bytes& address, const Block<Bytes>& block) {
  const auto whole = static_cast<std::size_t>(block.bits / 8);
  if (!std::equal(address.begin(), address.begin() + whole, block.begin.begin())) return false;
  const int rest = block.bits % 8;
  return rest == 0 || (address[whole] ^ block.begin[whole]) >> (8 - rest) == 0;
}

template <typename Bytes>
bool IsInAny(const Bytes& address, std::span<const Block<Bytes>> blocks) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [&address](const Block<Bytes>& block) { return IsIn(address, block); });
}

bool IsPublic(const Four& address) { return !IsInAny<Four>(address, kInnerFour); }

bool IsPublic(const Six& address) {
  if (IsIn(address, kMapped) || IsIn(address, kTranslated)) {
    Four four{};
    std::copy(address.begin() + 12, address.end(), four.begin());
    return IsPublic(four);
  }
  return IsIn(address, kOuterSix) && !IsInAny<Six>(address, kInnerSix);
}

}  // namespace

bool IsPublicAddress(const std::string& address) {
  Four four{};
  if (inet_pton(AF_INET, address.c_str(), four.data()) == 1) return IsPublic(four);
  Six six{};
  return inet_pton(AF_INET6, address.c_str(), six.data()) == 1 && IsPublic(six);
}

}  // namespace tidemill
