// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <map>
#include <string>

#include "base/result.h"
#include "wire/json.h"

namespace tidemill::json {

// `code`, or `workdir`, which means the same: as it was written. Empty: neither is there.
Result<std::string> ReadCode(const Fields& spec);

// What `code` must be in a job that is made: a blob.
Result<void> CheckStoredCode(const std::string& code, const Path& spec);

// `paths`: what items begin with, and what takes its place.
Result<std::map<std::string, std::string>> ReadPaths(const Fields& spec);

}  // namespace tidemill::json
