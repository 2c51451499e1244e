// SPDX-License-Identifier: Apache-2.0
#pragma once
// TIDEMILL_TIMES: internal times that tests shorten. See HACKING.md.

#include <cstdlib>
#include <string>

#include "base/log.h"
#include "wire/times.h"

namespace tidemill {

// Empty if it is not set.
inline std::string TimesText() {
  const char* const text = std::getenv(kTimesVariable);
  return text == nullptr ? "" : text;
}

// One event for each program, so that shortened times do not go unnoticed in production.
inline void WarnOfTimes(Log& log) {
  const std::string text = TimesText();
  if (text.empty()) return;
  log.Warn("times.shortened",
           {{"times", text}, {"reason", "TIDEMILL_TIMES is set; it is for tests only"}});
}

}  // namespace tidemill
