// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

// What a person is asked. What nobody else should see never comes as an argument: those are seen by
// everybody on the machine, and kept in the shell's history.
namespace tidemill::cli {

// Whether somebody sits at standard input.
bool IsAtTerminal();

// A line from the terminal, which does not show it, without its end. kUnknown: interrupted; the
// terminal shows what is typed again. kInvalid: longer than a terminal's line.
Result<std::string> AskHidden(const std::string& question);

// A question that is answered with y or yes; anything else, and the end of the input, is no.
bool AskYes(const std::string& question);

// All of standard input, or of a file ("-" is standard input). kInvalid: it cannot be read, or is
// longer than `most`.
Result<std::string> ReadInput(std::size_t most);
Result<std::string> ReadInputFile(const std::string& path, std::size_t most);

}  // namespace tidemill::cli
