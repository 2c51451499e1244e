// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/cdi.h"

namespace tidemill {

// A spec as JSON for people and programs, in lines. ParseCdiSpec reads the same value back, if it
// is one that it takes at all.
std::string FormatCdiSpec(const CdiSpec& spec);

// "createContainer"; what CDI and OCI both call it.
std::string_view HookName(HookStage stage);

}  // namespace tidemill
