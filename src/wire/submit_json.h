// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wire/job_json.h"

// What the command line sends about jobs. The other ends are the parsers of job_json.h.
namespace tidemill {

// Fields of the spec that take the place of those in its file; those that are not set do not.
struct WishEdits {
  std::string queue = {};
  std::optional<std::int64_t> priority = {};
  std::string deadline = {};
  std::string budget = {};
  std::optional<std::int64_t> max_parallel = {};
  std::vector<std::string> after = {};
};

// What a person says beside the spec.
struct SpecEdits {
  std::string name;       // empty: as the spec has it
  std::string code = {};  // what takes the place of its code or workdir; empty: nothing
  std::vector<std::pair<std::string, std::string>> env;     // set, or set anew
  std::vector<std::pair<std::string, std::string>> params;  // only those that the spec declares
  WishEdits wishes = {};
};

// The spec's document with the edits in it; what else it holds is not looked at. kInvalid: a param
// that is not declared, with the nearest one; or `env` or `params` is no object.
Result<std::string> EditSpec(std::string_view document, const SpecEdits& edits);

// POST /v1/jobs
std::string FormatNewJob(std::string_view key, std::string_view document, bool open = false);
// PUT .../parts/{number}
std::string FormatRange(std::int64_t items);
// POST .../seal
std::string FormatSeal(std::int64_t parts);
// POST .../retry
std::string FormatRetry(const RetryRequest& retry);

}  // namespace tidemill
