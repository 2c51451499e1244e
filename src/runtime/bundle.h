// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/call.h"
#include "wire/runtime_json.h"

namespace tidemill {

// What was done to a bundle, for the log.
struct BundleChange {
  std::vector<std::string> devices = {};  // that were asked for
  std::size_t hooks = 0;                  // of hook files
  bool edited = false;                    // else config.json is as it was, to the byte
};

// Puts what a container asks for into its bundle. A bundle without config.json is left to the
// runtime below, which says so. Else the error is for whoever started the container: which device
// or file it is about, and what may be done.
Result<BundleChange> EditBundle(const RuntimeCall& call, const RuntimeConfig& config);

}  // namespace tidemill
