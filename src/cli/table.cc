// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "cli/format.h"

namespace tidemill::cli {
namespace {

constexpr std::size_t kGap = 2;
// A column cut below this says nothing any more.
constexpr std::size_t kLeastColumn = 6;

std::vector<std::size_t> WidthsOf(const std::vector<Column>& columns,
                                  const std::vector<std::vector<Cell>>& rows, std::size_t width) {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(WidthOf(column.title));
  for (const auto& row : rows) {
    TIDEMILL_CHECK(row.size() == columns.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], WidthOf(row[i].text));
    }
  }
  const std::size_t gaps = kGap * (columns.size() - 1);
  while (std::accumulate(widths.begin(), widths.end(), gaps) > width) {
    auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeastColumn) break;
    --*widest;
  }
  return widths;
}

void AppendCell(std::string& line, const Cell& cell, std::size_t width, bool right, bool colours) {
  const std::string text = Clip(cell.text, width);
  const std::string space(width - WidthOf(text), ' ');
  if (right) line += space;
  line += Paint(colours, cell.colour, text);
  if (!right) line += space;
}

}  // namespace

std::string FormatTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, std::size_t width,
                        bool colours) {
  const std::vector<std::size_t> widths = WidthsOf(columns, rows, width);
  std::string out;
  const auto append = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      AppendCell(line, cell_of(i), widths[i], columns[i].right, colours);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  append([&](std::size_t i) { return Cell(columns[i].title, Colour::kDim); });
  for (const auto& row : rows) append([&](std::size_t i) { return row[i]; });
  return out;
}

std::string FormatSpans(const std::vector<Cell>& spans, std::size_t width, bool colours) {
  std::string out;
  std::size_t left = width;
  for (const Cell& span : spans) {
    const std::string text = Clip(span.text, left);
    out += Paint(colours, span.colour, text);
    left -= WidthOf(text);
    if (text.size() < span.text.size()) break;
  }
  return out;
}

}  // namespace tidemill::cli
