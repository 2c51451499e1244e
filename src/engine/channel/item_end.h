// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "frame/frame.h"

namespace tidemill {

// What init says of the end of a run, in the words of an engine.
ItemEnd ItemEndOf(std::uint64_t number, const frame::End& end);

// The end of a run that never reached a process.
ItemEnd NotStarted(std::uint64_t number, int error);

// The line in a run's log that says why it was not started.
std::string CannotRun(std::string_view program, std::string_view why);
std::string NoSecretFiles(std::string_view why);

}  // namespace tidemill
