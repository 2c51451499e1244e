// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tidemill {

// A program of Python's standard library that prints what it finds in its container, as
// ParseEnvReport reads it.
std::string ProbeScript();

}  // namespace tidemill
