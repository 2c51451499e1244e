// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/deps.h"
#include "agent/device_health.h"
#include "base/loop.h"

namespace tidemill {

// Has the devices of a machine looked at, and says what the machine has to give without those that
// are left out. Loop thread only.
class DeviceWatch {
 public:
  // All that it is given outlives it. `changed` comes when other devices are given out, or for
  // another reason than before; never from inside the constructor.
  DeviceWatch(const AgentDeps& deps, const AgentOptions& options, std::function<void()> changed);

  // To be called each second.
  void Tick();
  // The engine may have learnt, or unlearnt, how to give some.
  void AskEngine();

  const DeviceHealth& health() const { return health_; }
  // With the devices that are given out.
  const Resources& shape() const { return shape_; }
  // The same, as one thing too.
  const Resources& whole() const { return whole_; }

 private:
  void Look();
  void Changed();

  const AgentDeps& deps_;
  const AgentOptions& options_;
  const std::function<void()> changed_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  DeviceHealth health_;
  Resources shape_;
  Resources whole_;
  bool looking_ = false;
  TimePoint look_at_ = TimePoint::min();  // not before
};

}  // namespace tidemill
