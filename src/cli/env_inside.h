// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/docker_json.h"

// How a person works inside an image, as words for `docker`. Pure.
namespace tidemill::cli {

// Where the working folder stands in the container; images of ours have their code there.
inline constexpr const char* kWorkFolder = "/work";

struct InsidePlan {
  std::string image;
  std::string folder;  // of the machine, as a whole path
  // The person, so that what is made in the folder is theirs.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string user = {};
  bool input = false;     // ours is its standard input
  bool terminal = false;  // and it is a terminal, as its output is
  std::vector<std::string> devices = {};
  std::vector<std::string> variables = {};
  int port = 0;              // of ours, on loopback
  int port_inside = 0;       // that it leads to
  std::string program = {};  // in the place of the image's entry point; empty: that one
  std::vector<std::string> command = {};
};

// What comes after `docker`. kInvalid: no device is called so. kUnavailable: this Docker cannot
// give such devices, with what to do.
Result<std::vector<std::string>> InsideWords(const InsidePlan& plan, const DockerInfo& docker);

// For /bin/sh: bash if there is one, else sh, with a prompt that names the environment.
std::vector<std::string> ShellWords(const std::string& name);

}  // namespace tidemill::cli
