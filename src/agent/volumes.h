// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "model/volume.h"

namespace tidemill {

// What decides which volumes a job gets on this machine.
struct VolumeTerms {
  const Volumes& lent;  // by the machine's pool
  // Folders of the machine that its owner lets a pool lend: these and no others, whatever a server
  // says. A folder below one does not count: what is there may be a link that an item has made.
  const std::vector<std::string>& host_folders;
  bool engine_mounts = false;  // see Engine::mounts
};

// The mounts of a job's containers. kInvalid: it cannot run on this machine, and why.
Result<std::vector<Mount>> MountsOf(const std::vector<VolumeMount>& wanted,
                                    const VolumeTerms& terms);

}  // namespace tidemill
