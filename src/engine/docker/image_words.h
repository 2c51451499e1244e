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

// What the image is to the registry that the name says; empty: it is not from there.
std::string DigestOf(const ImageName& name, const DockerImage& image);

// The header with which the Engine shows a registry who one is.
std::string RegistryAuth(const ImageName& name, const RegistryLogin& login);

// Why an image could not be had, from the Engine's own words, in which the registry's may stand;
// the login is not shown, whatever they are. kInvalid: it will not be had later either.
struct PullWho {
  std::optional<RegistryLogin> login = {};
  bool by_role = false;          // and not the job's own
  std::string no_role_for = {};  // why the machine's role gave none; empty: nobody asked it
};
Error PullError(std::string_view image, std::string_view message, const PullWho& who = {});

// The same for a container that was not created or did not start.
Error StartError(int status, std::string_view message);

}  // namespace tidemill
