// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/random.h"
#include "cli/context.h"

namespace tidemill::cli {

struct AddFlags {
  std::string job;
  std::string items;  // as OpenItems has it
  std::string key;    // empty: a random one
};

// tidemill add. A long list goes part by part; each part has a key of its own, so a lost answer
// costs nothing, and the same --key takes up what broke off.
int AddItems(const Context& context, Random& random, const AddFlags& flags);

}  // namespace tidemill::cli
