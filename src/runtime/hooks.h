// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// What the specs that we write let a runtime do in a container before it starts. Hooks get the
// container's state as JSON on their standard input.
namespace tidemill {

// Where the root folder is of the container whose state this is: what its bundle says.
Result<std::string> RootOfState(std::string_view state);

// Lets the loader of programs find the libraries in these folders: they are written to
// /etc/ld.so.conf.d and the machine's ldconfig makes the cache anew. `ldconfig` empty: where it
// usually is.
Result<void> UpdateLdCache(const std::string& root, const std::vector<std::string>& folders,
                           const std::string& ldconfig);

// Each as TARGET::PATH: a link at PATH that says TARGET.
Result<void> CreateSymlinks(const std::string& root, const std::vector<std::string>& links);

}  // namespace tidemill
