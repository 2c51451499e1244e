// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

namespace tidemill::cli {
namespace {

std::string_view CodeOf(Colour colour) {
  switch (colour) {
    case Colour::kBold:
      return "1";
    case Colour::kDim:
      return "2";
    case Colour::kRed:
      return "31";
    case Colour::kGreen:
      return "32";
    case Colour::kYellow:
      return "33";
    case Colour::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::string Paint(bool on, Colour colour, std::string_view text) {
  if (!on || colour == Colour::kPlain || text.empty()) return std::string(text);
  std::string out = "\x1b[";
  out.append(CodeOf(colour)).append("m").append(text).append("\x1b[0m");
  return out;
}

void Console::Line(std::string_view text) const { out(std::string(text) + "\n"); }

void Console::ErrLine(std::string_view text) const { err(std::string(text) + "\n"); }

std::string Console::Painted(Colour colour, std::string_view text) const {
  return Paint(colours, colour, text);
}

std::optional<std::string> Surroundings::Env(const std::string& name) const {
  auto value = env(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

}  // namespace tidemill::cli
