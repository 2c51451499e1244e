// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cdi.h"

// The files that tell tidemill-runtime what to do.
namespace tidemill {

struct RuntimeConfig {
  // Programs that may run the container: the first that is there does. Names are looked for on the
  // path.
  std::vector<std::string> runtimes = {"runc", "crun"};
  std::string driver_root = "/";               // where the drivers' libraries and tools are
  std::string log = {};                        // a file for what was done; empty: none
  std::vector<std::string> cdi_folders = {};   // of specs; none: CDI's own
  std::vector<std::string> hook_folders = {};  // of hook files, for every container
  bool from_environment = true;                // a container's environment may ask for devices
  bool operator==(const RuntimeConfig&) const = default;
};

// As JSON. kInvalid as "hook-folders: ...", with the field at fault first.
Result<RuntimeConfig> ParseRuntimeConfig(std::string_view json);

// {"hooks": {"prestart": [{"path": "/usr/bin/x", "args": ["x"]}]}}, as oci-add-hooks reads it.
Result<std::vector<OciHook>> ParseHookFile(std::string_view json);

// Docker's daemon.json with a runtime of that name, or without it. Other fields stay, in their
// order. Empty text has none. kInvalid: not JSON ("line 3: ..."), or not as Docker has it;
// kConflict: the name is another program's, or the runtime is the default one.
Result<std::string> AddDockerRuntime(std::string_view text, const std::string& name,
                                     const std::string& path);
Result<std::string> RemoveDockerRuntime(std::string_view text, const std::string& name);

// What `cdi list` says, for programs.
std::string FormatCdiList(const std::vector<CdiName>& names,
                          const std::vector<std::string>& troubles);

}  // namespace tidemill
