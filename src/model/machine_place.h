// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tidemill {

// Which machine of a cloud this is, as the cloud itself says.
struct MachinePlace {
  std::string provider = {};  // "aws" or "gcp"; empty: in no cloud
  std::string id = {};        // "i-0fe2..."; of gcp, a number
  std::string name = {};      // of gcp: by which it is known in its zone
  std::string type = {};      // "c7i.4xlarge"
  std::string zone = {};      // "eu-west-1a"
  std::string region = {};    // "eu-west-1"
  bool spot = false;          // it may be taken away at any time
  bool operator==(const MachinePlace&) const = default;
};

}  // namespace tidemill
