// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"

// A folder's environment becomes an image, by the person's own Docker.
namespace tidemill::cli {

struct EnvFlags {
  std::string folder = ".";
  // init
  std::string name = {};
  std::string from = {};
  bool gpu = false;
  // build
  bool upgrade = false;      // what is installed is found out anew
  std::string network = {};  // as `docker build` takes it
  // push
  std::string to = {};  // the name of an image, without a tag
  // run, shell, jupyter, test
  std::vector<std::string> devices = {};    // "nvidia.com/gpu", "nvidia.com/gpu=0,1", "/dev/fpga0"
  std::vector<std::string> variables = {};  // NAME=VALUE, or NAME: as it is here
  std::vector<std::string> command = {};
  int port = 0;  // of jupyter; 0: the first that is free
  // run, shell, jupyter on a machine of the fleet
  std::string pool = {};  // empty: here
  std::string queue = {};
  double cpus = 1;
  std::string memory = {};  // empty: no limit
  int idle_minutes = 120;   // without a key typed, or a byte shown
};

int EnvInit(const Console& console, const EnvFlags& flags);
int EnvBuild(const Console& console, const Surroundings& around, const EnvFlags& flags);
int EnvPush(const Console& console, const Surroundings& around, const EnvFlags& flags);

// What `--to` may be. kInvalid: it is no name of an image without a tag.
Result<void> CheckPushName(const std::string& to);

}  // namespace tidemill::cli
