// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/volume.h"

namespace tidemill {

// What a pool demands of its containers beyond the defaults, under which any image runs that runs
// with `docker run`; and what it lends to them.
struct ContainerPolicy {
  bool no_capabilities = false;  // all dropped, not only the dangerous ones
  bool read_only_root = false;   // /tmp and the item's scratch folder stay writable
  bool no_network = false;       // loopback only
  bool user_namespace = false;   // the container's root is nobody on the machine
  bool firewall = false;  // a machine that cannot shut metadata and its own ports runs nothing
  Volumes volumes = {};
  bool operator==(const ContainerPolicy&) const = default;
};

}  // namespace tidemill
