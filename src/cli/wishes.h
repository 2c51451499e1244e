// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/console.h"
#include "model/job.h"

namespace tidemill::cli {

// What a job asked of whoever decides what runs next, and whose it is: a name and a text each, of
// what is set.
std::vector<std::pair<std::string, std::string>> WishLines(const Job& job,
                                                           const Surroundings& around);

}  // namespace tidemill::cli
