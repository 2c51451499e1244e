// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cloud/metadata.h"
#include "model/machine_place.h"
#include "model/sync.h"

namespace tidemill {

// Values of a machine's metadata by their paths; those that are not there are left out.
using MetadataValues = std::map<std::string, std::string>;

// Gets one after the other; the first that fails ends it. `done` comes once, never from inside. The
// metadata must live until then, or `done` does not come.
void GetAll(Metadata& metadata, std::vector<std::string> paths,
            std::function<void(Result<MetadataValues>)> done);

// What a machine of a cloud is told of itself: where it is, and what whoever made it wrote to it,
// in tags of EC2 (if the machine may read them) or in attributes of GCE.
struct MachineSelf {
  MachinePlace place = {};
  std::string server = {};   // tidemill-server
  std::string project = {};  // tidemill-project
  std::string pool = {};     // tidemill-pool
  // Of gcp, the managed instance group that made it: "projects/1/zones/z/instanceGroupManagers/g".
  // Empty: none did.
  std::string group = {};
  bool operator==(const MachineSelf&) const = default;
};

// The cloud is "aws" or "gcp". `done` as in GetAll.
void FindSelf(const std::string& cloud, Metadata& metadata,
              std::function<void(Result<MachineSelf>)> done);

// What the cloud signs of the machine, for the server at this URL and nobody else, where the cloud
// can say so. `done` as in GetAll.
void FetchProof(const std::string& cloud, Metadata& metadata, const std::string& audience,
                std::function<void(Result<MachineProof>)> done);

// What follows is for the tests too. Pure. kUnavailable: it is not what a machine's metadata is.
Result<MachineSelf> ReadEc2Self(const MetadataValues& values);
Result<MachineSelf> ReadGceSelf(const MetadataValues& values);

}  // namespace tidemill
