// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tidemill {

// A job of one item in which somebody works.
struct SessionSpec {
  std::string name = {};
  std::string image = {};
  std::vector<std::string> entrypoint = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  std::string pool = {};
  std::string queue = {};  // empty: the usual one
  double cpus = 1;
  std::string memory = {};                           // as a person says it; empty: no limit
  std::map<std::string, std::int64_t> devices = {};  // kind and number
  std::string timeout = {};
};

// As a job's spec has it. It is tried once, and never on trial.
std::string FormatSessionSpec(const SessionSpec& spec);

}  // namespace tidemill
