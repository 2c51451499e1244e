// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/image.h"

namespace tidemill {

// Gives the login to a registry that this machine has by its role, if the registry is one that
// knows roles; `host` is as an image names it. Calls back once, and never from inside.
using RegistryRole = std::function<void(
    const std::string& host, std::function<void(Result<std::optional<RegistryLogin>>)> done)>;

}  // namespace tidemill
