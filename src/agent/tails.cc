// SPDX-License-Identifier: Apache-2.0
#include "agent/tails.h"

#include <utility>

#include "report/signature.h"

namespace tidemill {

std::string Tails::Take(const LogPlace& place) {
  auto tail = tails_.extract(KeyOf(place));
  if (tail.empty()) return "";
  std::string text = std::move(tail.mapped());
  if (text.size() > kTailBytes) text.erase(0, text.size() - kTailBytes);
  return text;
}

void Tails::Append(const LogPlace& place, std::string_view bytes) {
  if (const auto found = tails_.find(KeyOf(place)); found != tails_.end()) {
    std::string& tail = found->second;
    // Twice as much is let come together, so that a byte is moved once and not each time.
    if (tail.size() + bytes.size() > 2 * kTailBytes) {
      const std::size_t kept = bytes.size() >= kTailBytes ? 0 : kTailBytes - bytes.size();
      if (tail.size() > kept) tail.erase(0, tail.size() - kept);
    }
    tail += bytes.size() > kTailBytes ? bytes.substr(bytes.size() - kTailBytes) : bytes;
  }
  logs_.Append(place, bytes);
}

}  // namespace tidemill
