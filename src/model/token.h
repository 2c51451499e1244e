// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"

// Secrets that say who somebody is: a prefix that tells what it is, and 256 random bits.
namespace tidemill {

inline constexpr std::string_view kApiPrefix = "tidemill_";           // a person's
inline constexpr std::string_view kJoinPrefix = "tidemill_join_";     // a pool's
inline constexpr std::string_view kSessionPrefix = "tidemill_sess_";  // an agent's
inline constexpr std::string_view kBrowserPrefix = "tidemill_web_";   // in a browser's cookie
inline constexpr std::string_view kMachineKeyPrefix = "tidemill_key_";

// The numbers must be the kernel's in a real process.
std::string MakeToken(std::string_view prefix, Random& random);
// Whether it could be one: nothing else is looked up.
bool IsToken(std::string_view prefix, std::string_view text);

// What is kept of a token. One hash without salt is enough for 256 random bits; and since only
// hashes are compared, the time that it takes tells nothing of the token.
std::string HashToken(std::string_view token);

}  // namespace tidemill
