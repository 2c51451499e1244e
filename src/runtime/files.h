// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tidemill {

// All of a file. kNotFound: it is not there; kExhausted: it is longer than `most`; kUnavailable:
// it cannot be read. Reasons name the file.
Result<std::string> ReadWhole(const std::string& path, std::size_t most);
// The same of what is open already, for instance standard input; `name` is for reasons.
Result<std::string> ReadWholeFd(int fd, std::size_t most, const std::string& name);

// Whether a file must be whole after the machine's power was cut. That takes the disk's time.
enum class Outlives : std::uint8_t { kProcess, kPowerCut };

// Puts another content in a file's place, by a file beside it: who reads it sees the old one or the
// new one. It keeps its owner and mode; a new one gets 0644. A link is followed.
Result<void> ReplaceWhole(const std::string& path, const std::string& content, Outlives outlives);

// Appends, for logs; what cannot be written is lost.
void AppendToFile(const std::string& path, const std::string& text);

}  // namespace tidemill
