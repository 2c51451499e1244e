// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// A folder that a pool lends to the jobs on its machines.
struct Volume {
  std::string host = {};     // a folder of each machine, by its path; or
  std::string nfs = {};      // one of an NFS server: "10.0.0.5:/export". Just one of the two is set
  std::string options = {};  // of the NFS mount: "nfsvers=4.1"
  bool readonly = false;     // whatever a job says
  bool operator==(const Volume&) const = default;
};
using Volumes = std::map<std::string, Volume>;  // by name

// A volume of its pool, as the containers of a job see it.
struct VolumeMount {
  std::string volume;  // its name
  std::string path;    // where it is in the container
  bool readonly = false;
  bool operator==(const VolumeMount&) const = default;
};

// Each is a mount of every container of a job.
inline constexpr std::size_t kMountsPerJob = 16;
inline constexpr std::size_t kVolumesPerPool = 64;
inline constexpr std::size_t kMountPathBytes = 512;

// Absolute and not the root, with neither "." nor ".." nor an empty name in it, no slash at its end
// and no control character.
bool IsFolderPath(std::string_view path);

// One is the other, or is somewhere below it. Of two paths that are folder paths.
bool Overlap(std::string_view one, std::string_view other);

// Why no volume may be at this path of a container; empty: one may.
std::string WhyNoMountAt(std::string_view path);

// What stands before and behind the first ":/" of "10.0.0.5:/export".
struct NfsPlace {
  std::string server;
  std::string path;
};
// Both are empty if it is not of this form, or the server is no name and no IPv4 address.
NfsPlace ParseNfs(std::string_view text);

// Letters, digits and "=._-/:", with commas between them, and no address: that is in `nfs`.
bool IsNfsOptions(std::string_view text);

// One a line, as stores keep them. No field has a tab or a line end. What is not of this form is
// read as far as it is.
std::string FormatVolumes(const Volumes& volumes);
Volumes ParseVolumes(std::string_view text);

}  // namespace tidemill
