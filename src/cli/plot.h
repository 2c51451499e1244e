// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tidemill::cli {

// Something over time, as blocks under an axis with its numbers. Pure.
struct PlotShape {
  std::size_t width = 72;  // of a line, in all
  std::size_t rows = 8;
};
// Points are (when, in ms; how much), in the order of time; each counts until the next one, and the
// last only says when that was over. Nothing if the last is not after the first.
std::string PlotText(const std::vector<std::pair<std::int64_t, std::int64_t>>& points,
                     PlotShape shape);

}  // namespace tidemill::cli
