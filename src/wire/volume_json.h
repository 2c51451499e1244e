// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/volume.h"
#include "wire/json.h"

namespace tidemill::json {

// What a pool lends: {"models":{"host":"/srv/models","readonly":true}}
std::string VolumesText(const Volumes& volumes);
// The object in the field "volumes"; one that is absent has none.
Result<Volumes> ReadVolumes(const Fields& policy);

// What a job takes of it: the field "mounts" of a spec.
//
//   mounts: [{volume: models, path: /models, readonly: true}]
Result<std::vector<VolumeMount>> ReadMounts(const Fields& spec);

}  // namespace tidemill::json
