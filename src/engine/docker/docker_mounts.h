// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "wire/docker_json.h"

namespace tidemill {

// As the Engine is told of it.
DockerMount DockerMountOf(const Mount& mount);

// The mounts that are not ours but a job's: "ro /models\nrw /scratch\n".
std::string VolumesLabel(const std::vector<Mount>& mounts);

}  // namespace tidemill
