// SPDX-License-Identifier: Apache-2.0
#pragma once
// The devices of tidemill-agent's machine, as its flags and its CDI specs say.

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "agent/deps.h"
#include "agent/shell/device_check.h"
#include "agent/shell/machine_devices.h"
#include "cdi/inventory.h"
#include "cdi/read_folders.h"

namespace tidemill {

struct DeviceFlags {
  std::vector<std::string> paths;
  std::vector<std::string> folders = kCdiFolders;
  bool no_cdi = false;
  std::string check;

  std::vector<std::string> cdi_folders() const {
    return no_cdi ? std::vector<std::string>() : folders;
  }
};

// Those of the flags, then those of the specs.
inline Result<std::vector<MachineDevice>> FindDevices(const DeviceFlags& flags,
                                                      std::vector<std::string>& troubles) {
  TIDEMILL_TRY(std::vector<MachineDevice> devices, DevicesOfFlags(flags.paths));
  const CdiRegistry registry = ReadCdiFolders(flags.cdi_folders());
  troubles = registry.Troubles();
  AddSpecDevices(InventoryOf(registry), devices, troubles);
  return devices;
}

// A program of that name, where a shell would find it.
inline bool IsOnPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    if (!folder.empty() && std::filesystem::exists(folder + "/" + program, error)) return true;
  }
  return false;
}

inline DeviceCheckOptions CheckOf(const DeviceFlags& flags) {
  DeviceCheckOptions options{.command = flags.check};
  if (IsOnPath("nvidia-smi")) options.nvidia_command = "nvidia-smi -i";
  return options;
}

inline void AddDeviceFlags(CLI::App& app, DeviceFlags& flags) {
  app.add_option("--device", flags.paths,
                 "A device that items may ask for, each for itself; may be given again. Those of "
                 "CDI specs need no flag")
      ->type_name("KIND=PATH");
  app.add_option("--cdi-folder", flags.folders,
                 "Where the CDI specs of this machine's devices stand; may be given again")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.add_flag("--no-cdi", flags.no_cdi, "Take no devices from CDI specs");
  app.add_option("--device-check", flags.check,
                 "Run every 30 s for each device, with its path or CDI name as the last word; one "
                 "for which it fails gets no items. Without it, nvidia-smi -i if that is there")
      ->type_name("COMMAND");
}

}  // namespace tidemill
