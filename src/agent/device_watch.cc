// SPDX-License-Identifier: Apache-2.0
#include "agent/device_watch.h"

#include <utility>
#include <vector>

namespace tidemill {

DeviceWatch::DeviceWatch(const AgentDeps& deps, const AgentOptions& options,
                         std::function<void()> changed)
    : deps_(deps),
      options_(options),
      changed_(std::move(changed)),
      health_(options.devices),
      shape_(options.shape),
      whole_(options.shape) {
  whole_.devices[kWholeMachine] = 1;
}

void DeviceWatch::Tick() {
  if (options_.devices.empty()) return;
  AskEngine();
  Look();
}

void DeviceWatch::AskEngine() {
  std::vector<std::string> troubles;
  for (const MachineDevice& device : options_.devices) {
    troubles.push_back(deps_.engine.DeviceTrouble(device.path));
  }
  if (health_.OnEngine(std::move(troubles))) Changed();
}

void DeviceWatch::Look() {
  if (deps_.check == nullptr || looking_ || deps_.loop.Now() < look_at_) return;
  looking_ = true;
  deps_.check->Look(options_.devices,
                    [this, alive = std::weak_ptr<char>(alive_)](std::vector<std::string> troubles) {
                      if (alive.expired()) return;
                      looking_ = false;
                      look_at_ = deps_.loop.Now() + options_.limits.device_rest;
                      if (health_.OnLooked(std::move(troubles))) Changed();
                    });
}

void DeviceWatch::Changed() {
  const std::string text = health_.Text();
  if (text.empty()) {
    deps_.log.Info("devices.well");
  } else {
    deps_.log.Warn("devices.left_out", {{"reason", text}});
  }
  shape_.devices = health_.Count();
  whole_ = shape_;
  whole_.devices[kWholeMachine] = 1;
  changed_();
}

}  // namespace tidemill
