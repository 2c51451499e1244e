// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/deps.h"
#include "net/asio_loop.h"
#include "net/child.h"
#include "net/thread_pool.h"

namespace tidemill {

struct DeviceCheckOptions {
  // For a shell, with the device's path or CDI name as its last word; a good exit says that it
  // works. Empty: none.
  std::string command = {};
  // The same for nvidia.com/gpu, if there is none of the above, with the number or UUID of the GPU.
  std::string nvidia_command = {};
  // For the nodes of one device, and for its command. Both take a moment; a driver that hangs takes
  // for ever.
  Duration limit = std::chrono::seconds(10);
};

// Why a device's nodes say that it does not work; empty: they do not. They must be there, be
// devices if a spec says so, and open, unless somebody has them open alone or we may not.
std::string NodeTrouble(const MachineDevice& device);

// Looks at devices one after the other: at its nodes, and then by a command. Loop thread only. A
// look that hangs in the kernel ends the round, and until it is over the others are as they were.
class RealDeviceCheck : public DeviceCheck {
 public:
  RealDeviceCheck(AsioLoop& loop, DeviceCheckOptions options);
  // What hangs is left behind.
  ~RealDeviceCheck() override;
  RealDeviceCheck(const RealDeviceCheck&) = delete;
  RealDeviceCheck& operator=(const RealDeviceCheck&) = delete;

  void Look(const std::vector<MachineDevice>& devices,
            std::function<void(std::vector<std::string>)> done) override;

 private:
  std::string CommandFor(const MachineDevice& device) const;
  void LookAtNodes();
  void OnNodes(const std::string& trouble);
  void RunCommand(const std::string& command);
  void OnExit(int status);
  void Hangs(const std::string& what);
  void Next(std::string trouble);
  void Over();

  AsioLoop& loop_;
  const DeviceCheckOptions options_;
  std::unique_ptr<ThreadPool> nodes_;
  std::unique_ptr<Child> child_;
  TimerId timer_ = TimerId::kNone;
  bool hangs_ = false;  // what was begun at the device has not ended in time
  std::vector<MachineDevice> devices_;
  std::size_t at_ = 0;                 // the device that is looked at
  std::vector<std::string> troubles_;  // of the round before, from `at_` on
  std::function<void(std::vector<std::string>)> done_;
};

}  // namespace tidemill
