// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "net/asio_loop.h"

namespace tidemill {

struct ProcessEngineOptions {
  std::string state_folder;
  std::string init_path;  // of tidemill-init
};

// Runs items as plain processes of this machine, in the agent's own folder, environment and user: a
// container is no more than an init and a scratch folder. Images are ignored and limits are not
// enforced. Init ends with its agent and takes all items along, so nothing outlives a crash but
// folders. Loop thread only.
class ProcessEngine : public Engine {
 public:
  ProcessEngine(AsioLoop& loop, ProcessEngineOptions options);
  ~ProcessEngine() override;

  void Recover(Done<EngineInfo> done) override;
  void Open(const ContainerSpec& spec, ContainerEvents& events,
            Done<std::unique_ptr<Container>> done) override;
  std::size_t containers() const override;
  // Items are processes of the machine: nothing is promised of their network.
  std::string open_network() const override { return ""; }

 private:
  struct State;
  // Shared with the containers, which their owners may destroy later.
  const std::shared_ptr<State> state_;
};

// The entrypoint, then the command. kInvalid: there is neither.
Result<std::vector<std::string>> PlainArgv(const ItemRun& run);

}  // namespace tidemill
