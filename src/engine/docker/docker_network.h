// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/result.h"
#include "engine/docker/docker_api.h"

namespace tidemill {

// The network that containers of jobs are in, and the interface behind it, which the rules of
// firewall.h name. It is one for all agents of a machine.
inline constexpr char kDockerNetwork[] = "tidemill";
inline constexpr char kDockerBridge[] = "tidemill0";

// Makes the network if it is not there; another agent may do so at the same time. kUnavailable: it
// cannot be made, or somebody has made another one of its name, to which the rules do not apply.
void EnsureNetwork(DockerApi& api, std::function<void(Result<void>)> done);

}  // namespace tidemill
