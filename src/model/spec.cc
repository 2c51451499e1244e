// SPDX-License-Identifier: Apache-2.0
#include "model/spec.h"

#include <algorithm>
#include <array>

namespace tidemill {
namespace {

constexpr std::array<std::string_view, 3> kModeNames = {"process", "container", "loop"};

}  // namespace

std::string_view ModeName(Mode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }

std::optional<Mode> ParseMode(std::string_view name) {
  const auto* found = std::find(kModeNames.begin(), kModeNames.end(), name);
  if (found == kModeNames.end()) return std::nullopt;
  return static_cast<Mode>(found - kModeNames.begin());
}

}  // namespace tidemill
