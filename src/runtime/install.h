// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

enum class RuntimeHost : std::uint8_t { kDocker, kContainerd, kCrio };

// Who is to know us, under which name, and where that stands.
struct Installation {
  RuntimeHost host = RuntimeHost::kDocker;
  std::string config = {};  // a file; empty: the usual one
  std::string name = "tidemill";
  std::string program = {};  // the whole path of ours
};

// Register and undo it; doing either twice is doing it once. What to say to whoever asked: what was
// written, and what to run next. An error changes nothing.
Result<std::string> Install(Installation installation);
Result<std::string> Uninstall(Installation installation);

// The text of containerd's config.toml with our block at its end, and without it, to the byte as it
// was before. kInvalid: it is of a version that we do not know; kConflict: somebody else's runtime
// has that name.
Result<std::string> AddContainerdRuntime(std::string_view text, const std::string& name,
                                         const std::string& program);
std::string RemoveContainerdRuntime(std::string_view text, const std::string& name);

}  // namespace tidemill
