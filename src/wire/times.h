// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/result.h"

namespace tidemill {

// Internal times that tests shorten. All programs of a test share one environment variable, so a
// name says whose time it is: "agent.device_rest=500ms,server.leader_silence=2s".
inline constexpr char kTimesVariable[] = "TIDEMILL_TIMES";

// The times of one program that can be set, by name without the program.
using SettableTimes = std::map<std::string_view, Duration*>;

// Sets the times of `program` that `text` names, and ignores those of other programs. Changes
// nothing if it fails. kInvalid: an entry has no value, the value is not a positive duration, the
// program is unknown, or `times` does not have the name.
Result<void> SetTimes(std::string_view text, std::string_view program, const SettableTimes& times);

}  // namespace tidemill
