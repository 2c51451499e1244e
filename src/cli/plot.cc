// SPDX-License-Identifier: Apache-2.0
#include "cli/plot.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/format.h"

namespace tidemill::cli {
namespace {

constexpr std::size_t kEighths = 8;
constexpr std::array<std::string_view, kEighths + 1> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                                "▅", "▆", "▇", "█"};
constexpr std::size_t kLeastColumns = 8;

using Points = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The greatest value of the part of the time that each column stands for.
std::vector<std::int64_t> ColumnsOf(const Points& points, std::size_t columns) {
  const std::int64_t begin = points.front().first;
  const std::int64_t span = points.back().first - begin;
  const auto column_of = [&](std::int64_t at) {
    return static_cast<std::size_t>(at - begin) * columns / static_cast<std::size_t>(span);
  };
  std::vector<std::int64_t> values(columns);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const std::size_t from = std::min(column_of(points[i].first), columns - 1);
    // One that is over in the column where it begins is seen there.
    const std::size_t until = std::max(column_of(points[i + 1].first), from + 1);
    for (std::size_t c = from; c < until; ++c) values[c] = std::max(values[c], points[i].second);
  }
  return values;
}

std::string Right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

std::string PlotText(const Points& points, PlotShape shape) {
  if (points.size() < 2 || points.back().first <= points.front().first) return "";
  std::int64_t most = 1;
  for (const auto& [at, value] : points) most = std::max(most, value);
  const std::string top = Thousands(most);
  const std::size_t columns = std::max(kLeastColumns, shape.width - top.size() - 2);
  const std::vector<std::int64_t> values = ColumnsOf(points, columns);
  const std::size_t levels = shape.rows * kEighths;
  std::string text;
  for (std::size_t row = shape.rows; row-- > 0;) {
    text += Right(row + 1 == shape.rows ? top : "", top.size()) + " ┤";
    std::string line;
    for (const std::int64_t value : values) {
      // Rounded up: what is there is seen.
      const auto level =
          (static_cast<std::size_t>(value) * levels + static_cast<std::size_t>(most) - 1) /
          static_cast<std::size_t>(most);
      const std::size_t below = row * kEighths;
      line += kBlocks[level <= below ? 0 : std::min(level - below, kEighths)];
    }
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  std::string axis;
  for (std::size_t i = 0; i < columns; ++i) axis += "─";
  text += Right("0", top.size()) + " └" + axis + "\n";
  const std::int64_t from = points.front().first;
  const std::string begin = from == 0 ? "0" : DurationText(from);
  const std::string end = DurationText(points.back().first);
  const std::string indent(top.size() + 2, ' ');
  const std::size_t gap = columns - std::min(columns, begin.size() + end.size());
  return text + indent + begin + std::string(gap, ' ') + end + "\n";
}

}  // namespace tidemill::cli
