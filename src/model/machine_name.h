// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tidemill {

// A machine that was ordered is called "spot-17": its pool, and its number there.
std::string MachineName(const std::string& pool, std::int64_t number);
// The number of a machine of the pool; nothing for names of another form.
std::optional<std::int64_t> MachineNumber(const std::string& pool, const std::string& name);

}  // namespace tidemill
