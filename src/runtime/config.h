// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "wire/runtime_json.h"

namespace tidemill {

inline constexpr char kRuntimeConfigPath[] = "/etc/tidemill/runtime.yaml";

// kInvalid as "PATH:3: ...". A file that is not there says nothing, and all is as it is by default.
Result<RuntimeConfig> ReadRuntimeConfig(const std::string& path);

// The hooks of the .json files of these folders, in the order of the folders and of their names. A
// folder that is not there has none. kInvalid as "PATH:3: ...": a hook that is left out unseen may
// be one that somebody relies on.
Result<std::vector<OciHook>> ReadHookFolders(const std::vector<std::string>& folders);

}  // namespace tidemill
