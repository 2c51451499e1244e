// SPDX-License-Identifier: Apache-2.0
#pragma once
// What runs the containers of tidemill-agent, as its flags say.

#include <memory>
#include <string>

#include "agent/shell/state_folder.h"
#include "cloud/registry_role.h"
#include "cmd/agent_flags.h"
#include "engine/docker/docker_engine.h"
#include "engine/process/process_engine.h"
#include "net/asio_loop.h"

namespace tidemill {

inline std::unique_ptr<Engine> MakeEngine(const AgentFlags& flags, AsioLoop& loop,
                                          const StateFolder& folder, RegistryRoles& roles) {
  if (flags.engine == "process") {
    return std::make_unique<ProcessEngine>(
        loop, ProcessEngineOptions{.state_folder = folder.engine(), .init_path = InitPath(flags)});
  }
  const RegistryRole role = [&roles](const std::string& host, auto done) {
    roles.LoginFor(host, std::move(done));
  };
  return std::make_unique<DockerEngine>(
      loop, DockerEngineOptions{.socket_path = flags.docker_socket,
                                .state_folder = folder.engine(),
                                .init_path = InitPath(flags),
                                .agent_id = folder.id(),
                                .cdi_folders = flags.devices.cdi_folders(),
                                .registry_role = role});
}

}  // namespace tidemill
