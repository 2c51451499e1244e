// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "model/spec.h"
#include "wire/fault.h"

// A job's spec as a JSON object, which is also what a job's YAML file holds. It is read strictly,
// by the same code in the command line, in servers when a job is made, and in agents.
namespace tidemill {

struct ParsedSpec {
  JobSpec job;  // its name is empty if the object has none
  RunSpec run;
  std::map<std::string, std::string> paths;  // see PathMap; for who submits, not for who runs
  // Those of wishes.after, as they were written: whether a name fits its number is for who has the
  // jobs.
  std::vector<std::string> after;
};

// kInvalid, with the field's path, for anything that is not known or not as it should be; so also
// for templates that stand for nothing.
Result<ParsedSpec> ParseSpec(std::string_view json);

}  // namespace tidemill
