// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tidemill {

// Whether the process behind a Unix socket is in our network namespace. One that is rootless, or in
// a container, is not: what its containers send does not pass here. False also if nobody can tell.
// May block for as long as it takes to connect.
bool IsInOurNetwork(const std::string& socket_path);

}  // namespace tidemill
