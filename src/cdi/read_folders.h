// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cdi/registry.h"

namespace tidemill {

// Where a machine's specs stand; what is in the later goes before what is in the earlier.
inline const std::vector<std::string> kCdiFolders = {"/etc/cdi", "/var/run/cdi"};

// The .json and .yaml files of each folder, in the order of their names. A folder that is not there
// has none. Never fails as a whole: what cannot be read is among the registry's troubles.
CdiRegistry ReadCdiFolders(const std::vector<std::string>& folders);

// One file, at most 1 MiB. kUnavailable: it cannot be read. kInvalid: it is no plain file, or no
// spec, as "line 7: ...".
Result<CdiSpec> ReadCdiFile(const std::string& path);

}  // namespace tidemill
