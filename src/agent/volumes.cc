// SPDX-License-Identifier: Apache-2.0
#include "agent/volumes.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

Result<Mount> MountOf(const VolumeMount& wanted, const VolumeTerms& terms) {
  const auto found = terms.lent.find(wanted.volume);
  if (found == terms.lent.end()) {
    return Fail(Code::kInvalid, "this machine's pool declares no volume " + wanted.volume);
  }
  const Volume& volume = found->second;
  const bool read_only = volume.readonly || wanted.readonly;
  if (!volume.nfs.empty()) {
    return Mount{.folder = "",
                 .inside = wanted.path,
                 .read_only = read_only,
                 .nfs = volume.nfs,
                 .nfs_options = volume.options};
  }
  const auto& allowed = terms.host_folders;
  if (std::find(allowed.begin(), allowed.end(), volume.host) == allowed.end()) {
    return Fail(Code::kInvalid, "volume " + wanted.volume +
                                    ": this machine's agent was not "
                                    "started with --allow-host-folders " +
                                    volume.host);
  }
  return Mount{.folder = volume.host, .inside = wanted.path, .read_only = read_only};
}

}  // namespace

Result<std::vector<Mount>> MountsOf(const std::vector<VolumeMount>& wanted,
                                    const VolumeTerms& terms) {
  std::vector<Mount> mounts;
  if (!wanted.empty() && !terms.engine_mounts) {
    return Fail(Code::kInvalid, "the job has mounts, and this machine runs no containers");
  }
  for (const VolumeMount& each : wanted) {
    TIDEMILL_TRY(Mount mount, MountOf(each, terms));
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace tidemill
