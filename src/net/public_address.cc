// SPDX-License-Identifier: Apache-2.0
#include "net/public_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>
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

constexpr int kMappedBits = 96;

std::optional<Six> BytesOf(const std::string& address) {
  Six six{};
  if (inet_pton(AF_INET6, address.c_str(), six.data()) == 1) return six;
  Four four{};
  if (inet_pton(AF_INET, address.c_str(), four.data()) != 1) return std::nullopt;
  six = kMapped.begin;
  std::copy(four.begin(), four.end(), six.begin() + kMappedBits / 8);
  return six;
}

// Whether it has no bits but the first so many.
bool EndsAfter(const Six& address, int bits) {
  for (int bit = bits; bit < 128; ++bit) {
    if ((address[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

}  // namespace

bool IsPublicAddress(const std::string& address) {
  Four four{};
  if (inet_pton(AF_INET, address.c_str(), four.data()) == 1) return IsPublic(four);
  Six six{};
  return inet_pton(AF_INET6, address.c_str(), six.data()) == 1 && IsPublic(six);
}

Result<NetBlock> ParseNetBlock(const std::string& text) {
  const auto wrong = [] {
    return Fail(Code::kInvalid, "it is no network, as 10.1.0.0/16 or fd00:1::/32");
  };
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  const auto begin = BytesOf(address);
  if (!begin) return wrong();
  NetBlock network{*begin, 128};
  if (slash == text.npos) return network;
  const bool is_four = address.find(':') == address.npos;
  int bits = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + slash + 1, end, bits);
  if (error != std::errc{} || rest != end || bits < 0 || bits > (is_four ? 32 : 128)) {
    return wrong();
  }
  network.bits = is_four ? kMappedBits + bits : bits;
  if (!EndsAfter(network.begin, network.bits)) {
    return Fail(Code::kInvalid, "it has bits beyond its first " + std::to_string(bits));
  }
  return network;
}

bool IsIn(const std::string& address, const NetBlock& network) {
  const auto bytes = BytesOf(address);
  return bytes && IsIn(*bytes, Block<Six>{network.begin, network.bits});
}

std::string AddressOf(const std::string& host) {
  char text[INET6_ADDRSTRLEN] = "";
  in_addr four{};
  in6_addr six{};
  if (inet_aton(host.c_str(), &four) != 0) return inet_ntop(AF_INET, &four, text, sizeof text);
  const std::string bare = host.substr(0, host.find('%'));  // a zone is of a link, and says no more
  if (inet_pton(AF_INET6, bare.c_str(), &six) != 1) return {};
  return inet_ntop(AF_INET6, &six, text, sizeof text);
}

}  // namespace tidemill
