// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/docker/registry_role.h"
#include "engine/engine.h"
#include "net/asio_loop.h"

namespace tidemill {

struct DockerEngineOptions {
  std::string socket_path = "/var/run/docker.sock";
  std::string state_folder = {};  // as the Engine sees it too: containers mount folders of it
  std::string init_path = {};     // of tidemill-init; containers mount it
  // What tells our containers from those of other agents of this machine.
  std::string agent_id = {};
  std::string nft = {};  // the program that sets firewall rules; empty: it is looked for
  // Somebody who flushes the machine's rules leaves metadata open for no longer than this.
  std::chrono::seconds shut_every{60};
  // Where the specs stand that CDI names among the devices are from.
  std::vector<std::string> cdi_folders = {};
  // Asked for pulls of jobs that name no login; null: nobody is.
  RegistryRole registry_role = {};
};

// Runs items in containers of a Docker Engine. Nothing of a container outlives it: not its folder,
// not its file system. What a crash leaves running is found by its label at Recover and may be
// adopted; all else that it leaves is removed then, and every 30 seconds.
// Containers are in a network of our own, behind rules of our own; both are put back in time
// if somebody has removed them. Loop thread only.
class DockerEngine : public Engine {
 public:
  DockerEngine(AsioLoop& loop, DockerEngineOptions options);
  ~DockerEngine() override;

  void Recover(Done<EngineInfo> done) override;
  void Fetch(const ContainerSpec& spec, Done<std::string> done) override;
  void Open(const ContainerSpec& spec, ContainerEvents& events,
            Done<std::unique_ptr<Container>> done) override;
  std::string PullState(const std::string& image) const override;
  std::string DeviceTrouble(const std::string& device) const override;
  bool mounts() const override { return true; }
  std::size_t containers() const override;
  std::string open_network() const override;

 private:
  class Sweeper;
  class Finder;
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace tidemill
