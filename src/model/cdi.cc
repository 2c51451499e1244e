// SPDX-License-Identifier: Apache-2.0
#include "model/cdi.h"

#include <algorithm>

#include "base/ascii.h"

namespace tidemill {
namespace {

// As long as the name of a host may be, and a label of it.
constexpr std::size_t kVendorBytes = 253;
constexpr std::size_t kClassBytes = 63;
constexpr std::size_t kDeviceBytes = 253;

// Letters and digits at both ends, and these or `others` between them.
bool IsWord(std::string_view text, std::size_t most, std::string_view others) {
  const auto fits = [&](char c) {
    return IsLetterOrDigit(c) || others.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= most && IsLetterOrDigit(text.front()) &&
         IsLetterOrDigit(text.back()) && std::all_of(text.begin(), text.end(), fits);
}

bool IsPartOfKind(std::string_view text, std::size_t most) {
  return IsWord(text, most, "_-.") && IsLetter(text.front());
}

}  // namespace

bool IsCdiKind(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && IsPartOfKind(text.substr(0, slash), kVendorBytes) &&
         IsPartOfKind(text.substr(slash + 1), kClassBytes);
}

bool IsCdiDeviceName(std::string_view text) { return IsWord(text, kDeviceBytes, "_-.:"); }

std::optional<CdiName> ParseCdiName(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view kind = text.substr(0, equals);
  const std::string_view device = text.substr(equals + 1);
  if (!IsCdiKind(kind) || !IsCdiDeviceName(device)) return std::nullopt;
  return CdiName{std::string(kind), std::string(device)};
}

std::string FormatCdiName(const CdiName& name) { return name.kind + "=" + name.device; }

}  // namespace tidemill
