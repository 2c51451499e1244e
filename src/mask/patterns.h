// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace tidemill {

// What is shorter is not hidden: it stands in any log by chance, and `***` everywhere would hide
// the log, and tell the value.
inline constexpr std::size_t kLeastHiddenBytes = 6;
// Larger values are files, which nobody puts into an address; their percent-encoded and JSON forms
// would be most of the memory.
inline constexpr std::size_t kMostEncodedBytes = 8 * 1024;
// Passwords and tokens are shorter: of what is larger only the usual JSON forms are known, for the
// same reason.
inline constexpr std::size_t kMostRareBytes = 1024;

// Adds all texts by which a log may show a secret: the value without the line breaks at its end, as
// it is and as base64 (also in lines), percent-encoded and JSON; and each line of a value of
// several lines.
void AddPatterns(std::string_view secret, std::set<std::string>& patterns);

}  // namespace tidemill
