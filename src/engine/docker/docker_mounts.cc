// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_mounts.h"

#include "base/digest.h"
#include "model/volume.h"

namespace tidemill {
namespace {

// One volume of the Engine's for each folder of a server and way to mount it, which all containers
// share: the machine mounts it once. Nothing in it has more rights than what is in an image.
DockerMount NfsMount(const Mount& mount) {
  const NfsPlace place = ParseNfs(mount.nfs);
  std::string options = "addr=" + place.server;
  if (!mount.nfs_options.empty()) options += "," + mount.nfs_options;
  options += ",nosuid,nodev";
  constexpr std::size_t kNameDigits = 32;
  const std::string digits = Hex(Sha256(mount.nfs + "\n" + options)).substr(0, kNameDigits);
  return {.source = "tidemill-nfs-" + digits,
          .target = mount.inside,
          .read_only = mount.read_only,
          .volume = {{"type", "nfs"}, {"o", options}, {"device", ":" + place.path}}};
}

}  // namespace

DockerMount DockerMountOf(const Mount& mount) {
  if (!mount.nfs.empty()) return NfsMount(mount);
  return {mount.folder, mount.inside, mount.read_only};
}

std::string VolumesLabel(const std::vector<Mount>& mounts) {
  std::string label;
  for (const Mount& mount : mounts) {
    if (mount.inside.starts_with("/.tidemill/")) continue;
    label += (mount.read_only ? "ro " : "rw ") + mount.inside + "\n";
  }
  return label;
}

}  // namespace tidemill
