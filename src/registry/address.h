// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tidemill {

// Whether it is an address of the Internet, in numbers: not one of this machine, of a private or
// local network, of a provider's inner one, or of many machines at once. An IPv4 address in the
// clothes of IPv6 is what it is inside. False for what is no address.
bool IsPublicAddress(const std::string& address);

}  // namespace tidemill
