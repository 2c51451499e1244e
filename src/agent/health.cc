// SPDX-License-Identifier: Apache-2.0
#include "agent/health.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace tidemill {

bool IsMachineFault(const Error& error) {
  // As the kernel's messages for ENOSPC, EDQUOT, EROFS and EIO come through engines.
  constexpr std::array<std::string_view, 4> kSigns = {
      "no space left on device", "disk quota exceeded", "read-only file system",
      "input/output error"};
  if (error.code != Code::kUnavailable) return false;
  std::string text = error.reason;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kSigns.begin(), kSigns.end(), [&text](std::string_view sign) {
    return text.find(sign) != std::string::npos;
  });
}

bool Health::OnFault(TimePoint now, const std::string& reason) {
  if (rests(now)) return false;
  ++faults_;
  until_ = now + (faults_ == 1 ? first_ : later_);
  reason_ = reason;
  return true;
}

}  // namespace tidemill
