// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

// Which machines a server may speak to because somebody else has named them. Nothing here looks at
// names: what a name stands for is asked once, and then the answer is looked at.
namespace tidemill {

// Whether it is an address of the Internet, in numbers: not one of this machine, of a private or
// local network, of a provider's inner one, or of many machines at once. An IPv4 address in the
// clothes of IPv6 is what it is inside. False for what is no address.
bool IsPublicAddress(const std::string& address);

// Addresses that begin alike. Those of IPv4 are kept in the clothes of IPv6, so that an address is
// in it however it is written.
struct NetBlock {
  std::array<std::uint8_t, 16> begin{};
  int bits = 128;
  bool operator==(const NetBlock&) const = default;
};
// "10.0.0.0/8", "fd00::/8", or one address. kInvalid: anything else, also "10.0.0.1/8".
Result<NetBlock> ParseNetBlock(const std::string& text);
// False for what is no address.
bool IsIn(const std::string& address, const NetBlock& network);

// An address in any form that systems read as one ("127.1", "0x7f000001", "::1"), as they write it;
// empty for what they would look up as a name.
std::string AddressOf(const std::string& host);

}  // namespace tidemill
