// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/spec_json.h"
#include "wire/submit_json.h"

namespace tidemill::cli {

// A spec, read and checked, with what the command line adds to it.
struct LoadedSpec {
  ParsedSpec parsed;     // its name is never empty
  std::string document;  // JSON, to be sent
};

// `yaml` is the text of the file `file`, which errors name: kInvalid, as a person is to read it:
// "render.yaml:7: unknown field 'memry' in resources; did you mean 'memory'?" A spec without a name
// is called as its file is.
Result<LoadedSpec> LoadSpec(std::string_view yaml, const std::string& file, SpecEdits edits);

// ToJson says "line 4: ..."; people look for "render.yaml:4: ...".
std::string WithFile(const std::string& file, const std::string& reason);

// The specs that are built in, and how many items they have.
struct Example {
  std::string_view name;
  std::string_view yaml;
  std::int64_t items = 0;
};
const Example* FindExample(std::string_view name);

// "A=b=c" -> {"A", "b=c"}; kInvalid without a name or '='.
Result<std::pair<std::string, std::string>> SplitPair(std::string_view text);

}  // namespace tidemill::cli
