// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"

namespace tidemill {

// A container's spec as the text of a label, by which a later life of this agent knows what it has
// found: "name=value" lines.
std::string FormatSpecLabel(const ContainerSpec& spec);
// Nothing: it is not as this version writes it.
std::optional<ContainerSpec> ParseSpecLabel(std::string_view text);

}  // namespace tidemill
