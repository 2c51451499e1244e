// SPDX-License-Identifier: Apache-2.0
#include "model/machine_name.h"

#include <charconv>

namespace tidemill {

std::string MachineName(const std::string& pool, std::int64_t number) {
  return pool + "-" + std::to_string(number);
}

std::optional<std::int64_t> MachineNumber(const std::string& pool, const std::string& name) {
  const std::string begin = pool + "-";
  if (!name.starts_with(begin)) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + begin.size(), end, number);
  if (error != std::errc{} || at != end) return std::nullopt;
  return number;
}

}  // namespace tidemill
