// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/context.h"
#include "wire/log_json.h"

namespace tidemill::cli {

struct LogsFlags {
  std::string job;
  std::optional<std::int64_t> item;
  std::optional<std::int64_t> tail;     // only so many of the last lines
  bool follow = false;                  // until the item is over
  std::optional<std::int32_t> attempt;  // of the newest round; else the newest attempt
  std::string grep;                     // or a search over all items
  std::string state;                    // of these alone
};
// tidemill logs
int ShowLogs(const Context& context, const LogsFlags& flags);

// A part as a person reads it: with words where something is missing.
std::string LogText(const LogPageDoc::Part& part);
// "12:03:44" in the zone that is `zone_s` seconds east of UTC.
std::string TimeOfDay(std::int64_t at_ms, std::int64_t zone_s);

}  // namespace tidemill::cli
