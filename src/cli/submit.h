// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "cli/context.h"
#include "wire/submit_json.h"

namespace tidemill::cli {

struct SubmitFlags {
  std::string spec;     // a file, "-", or a spec that the server keeps: NAME, NAME@VERSION
  std::string example;  // instead of a file
  std::string items;    // as OpenItems has it; empty: none
  std::string upload;   // the URL below which files that items name are stored; empty: they are not
  std::optional<std::int64_t> range;
  std::vector<std::string> env;     // NAME=VALUE
  std::vector<std::string> params;  // NAME=VALUE
  WishEdits wishes;
  std::string name;
  std::string key;    // empty: a random one
  bool open = false;  // it takes more items while it runs
  bool watch = false;
  std::string then;  // run when it is over, or stands still; empty: nothing is
};

// tidemill submit. The job is made, filled part by part and sealed; each call may be repeated, so a
// lost answer costs nothing. What breaks off for good leaves a draft, which the same --key takes
// up.
int Submit(const Context& context, Random& random, const SubmitFlags& flags);

}  // namespace tidemill::cli
