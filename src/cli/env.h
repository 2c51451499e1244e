// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

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
};

int EnvInit(const Console& console, const EnvFlags& flags);
int EnvBuild(const Console& console, const Surroundings& around, const EnvFlags& flags);
int EnvPush(const Console& console, const Surroundings& around, const EnvFlags& flags);

}  // namespace tidemill::cli
