// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/console.h"

namespace tidemill::cli {

// Where the Docker of this machine listens: as DOCKER_HOST says, if it names a socket.
std::string DockerSocket(const Surroundings& around);

// Why nobody answers there; empty: somebody does.
std::string WhyNotReached(const std::string& socket);

}  // namespace tidemill::cli
