// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "engine/engine.h"

namespace tidemill {

// What the play says of one run.
struct FakeRun {
  Duration takes = std::chrono::milliseconds(1);
  std::int32_t exit = 0;
  std::string log = {};
  std::int64_t memory_bytes = 1 << 20;  // that it needs: with less it runs out of memory
  bool ends_container = false;          // instead of ending by itself
  std::string result = {};              // what a loop's program sends back
  bool hangs = false;                   // and init with it: neither its timeout nor Stop ends it
};

// A container that the first Recover finds.
struct FakeFound {
  ContainerSpec spec = {};
  std::vector<ItemRun> runs = {};  // which begin when it is adopted
};

// Plays an engine on a loop: containers that hold nothing, and runs that take their time. Loop
// thread only.
class FakeEngine : public Engine {
 public:
  struct Play {
    std::function<FakeRun(const ItemRun&)> run = [](const ItemRun&) { return FakeRun{}; };
    // An error here is what Recover, or Open, is answered with.
    std::function<Result<void>()> recover = [] { return Result<void>(); };
    std::function<Result<void>(const ContainerSpec&)> open = [](const ContainerSpec&) {
      return Result<void>();
    };
    // What Fetch says of an image.
    std::function<std::string(const std::string&)> digest = [](const std::string&) {
      return std::string();
    };
    std::function<void(std::string_view)> on_role = {};  // what a container is told of its role
    std::function<std::string()> open_network = [] { return std::string(); };
    std::function<std::string(const std::string&)> pull_state = [](const std::string&) {
      return std::string();
    };
    std::function<std::string(const std::string&)> device_trouble = [](const std::string&) {
      return std::string();
    };
    std::vector<FakeFound> found = {};
    bool mounts = false;
    Duration opening = std::chrono::milliseconds(300);
    // Between the end of a container and OnGone.
    Duration explaining = std::chrono::milliseconds(100);
    // Between Stop and the end of a run, if it does not end by itself before.
    Duration stopping = Duration::zero();
  };

  FakeEngine(Loop& loop, Play play);
  ~FakeEngine() override;

  void Recover(Done<EngineInfo> done) override;
  void Fetch(const ContainerSpec& spec, Done<std::string> done) override;
  void Open(const ContainerSpec& spec, ContainerEvents& events,
            Done<std::unique_ptr<Container>> done) override;
  std::string PullState(const std::string& image) const override;
  std::string DeviceTrouble(const std::string& device) const override;
  bool mounts() const override;
  std::size_t containers() const override;
  std::string open_network() const override;

  // All containers end by themselves, as when an engine is restarted.
  void LoseAll(const std::string& reason);

 private:
  class FakeContainer;
  struct State;
  static FoundContainer Found(const std::shared_ptr<State>& state, FakeFound found);
  const std::shared_ptr<State> state_;
};

}  // namespace tidemill
