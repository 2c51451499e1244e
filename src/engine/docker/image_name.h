// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "wire/docker_json.h"

namespace tidemill {

// What an item runs in an image, as Docker has it: an entrypoint replaces the image's own and its
// command; a command replaces only the command. kInvalid: that leaves nothing to run.
Result<std::vector<std::string>> ComposeArgv(
    const DockerImage& image, const std::optional<std::vector<std::string>>& entrypoint,
    const std::optional<std::vector<std::string>>& command);

// Why an image could not be had, from the Engine's own words. kInvalid: it will not be had later
// either.
Error PullError(std::string_view image, std::string_view message);
// The same for a container that was not created or did not start.
Error StartError(int status, std::string_view message);

}  // namespace tidemill
