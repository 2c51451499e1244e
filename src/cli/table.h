// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cli/console.h"

namespace tidemill::cli {

struct Column {
  std::string title;
  bool right = false;  // numbers stand at the right edge
};

struct Cell {
  Cell(std::string a_text) : text(std::move(a_text)) {}
  Cell(const char* a_text) : text(a_text) {}
  Cell(std::string a_text, Colour a_colour) : text(std::move(a_text)), colour(a_colour) {}
  std::string text;
  Colour colour = Colour::kPlain;
};

// Rows under titles, two spaces between columns. The last column gets what the others leave of the
// width; if they leave too little, the widest is cut. Nothing is ever wider than asked for.
std::string FormatTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, std::size_t width,
                        bool colours);

// The pieces one after the other, cut at the width.
std::string FormatSpans(const std::vector<Cell>& spans, std::size_t width, bool colours);

}  // namespace tidemill::cli
