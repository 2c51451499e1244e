// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cdi.h"

// The config.json of an OCI bundle, as an engine writes it for a runtime. It is long and grows with
// each version: what is not named here is neither looked at nor changed.
namespace tidemill {

// Whoever may set a variable of a container can name a device with this one. It is for us alone,
// and no container sees it.
inline constexpr std::string_view kCdiVariable = "TIDEMILL_CDI";
// The names of annotations that ask for devices begin with it.
inline constexpr std::string_view kCdiAnnotation = "cdi.k8s.io/";
// More than any machine has; what is longer is a mistake.
inline constexpr std::size_t kMostAskedDevices = 256;

// What a container asks for.
struct OciAsks {
  std::vector<std::string> devices = {};  // as they are named there, each once
  bool asks = false;                      // also for none: the variable is there, and must go
  bool operator==(const OciAsks&) const = default;
};

enum class AskedBy : std::uint8_t { kAnnotations, kAnnotationsAndEnvironment };

// Builds nothing of what it reads but the answer. kInvalid: not JSON, or more devices than a
// machine has.
Result<OciAsks> ParseOciAsks(std::string_view config, AskedBy by);

// The same config.json with the edits in it:
//   - a variable takes the place of one of the same name;
//   - a node, or a mount, takes the place of one at the same path, and mounts come before those
//     that are beneath them;
//   - each node has a rule that lets the container use it, unless its permissions are "none"; one
//     without an owner is the process's user's;
//   - hooks come after those that are there; one that is there already, as when a bundle is edited
//     a second time, is not added again;
//   - groups come once; group 0 is left out, as CDI has it.
// Each node must have its type, and its numbers unless it is a pipe: see ResolveNodes. Fields that
// are not ours stay, and numbers keep their value. kInvalid: what is edited is not of its form.
Result<std::string> EditOciConfig(std::string_view config, const CdiEdits& edits);

// Where the root folder is: root.path; may be relative to the bundle.
Result<std::string> ParseOciRoot(std::string_view config);
// The bundle of a container's state, which hooks get on their standard input.
Result<std::string> ParseOciStateBundle(std::string_view state);

// A line of a runtime's log, as runc writes it; `json` or else text.
std::string FormatOciLogLine(std::string_view level, std::string_view message, std::int64_t now_ms,
                             bool json);

}  // namespace tidemill
