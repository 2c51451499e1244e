// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tidemill {

// What an engine wants of a runtime, as far as it is our business.
struct RuntimeCall {
  std::string command = {};                 // "create"; empty: there is none
  std::string bundle = ".";                 // a folder
  std::string config_file = "config.json";  // in it, or a whole path: crun takes another one
  std::string log = {};                     // where the engine looks for errors; empty: nowhere
  bool log_json = false;
  bool operator==(const RuntimeCall&) const = default;

  // Others take a container that is there already, or none.
  bool MakesContainer() const { return command == "create" || command == "run"; }
  std::string ConfigPath() const;
};

// Reads the arguments, without the program's own name, as runc and crun do: their own flags, a
// command, and the command's flags. Never fails: what is wrong with them the runtime below says.
RuntimeCall ReadRuntimeCall(const std::vector<std::string>& args);

}  // namespace tidemill
