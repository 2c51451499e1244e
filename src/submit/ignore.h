// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "submit/glob.h"

namespace tidemill {

// Which files of a folder are left out when it is packed: what hardly anybody means by code, and
// what its .tidemillignore says, which is written as a .gitignore is. The last line that matches a
// name decides; one with ! before it takes it in again. A pattern without a slash, but for one at
// its end, is about names at any depth; others begin at the folder itself. A slash at the end means
// folders only. Pure.
class IgnoreRules {
 public:
  static constexpr std::string_view kFile = ".tidemillignore";
  // Each line is held against each name.
  static constexpr std::size_t kLines = 1000;

  // kInvalid, with the line: a pattern that is none, or too many of them.
  static Result<IgnoreRules> Parse(std::string_view text);
  // `name` is the path from the folder on.
  bool LeavesOut(std::string_view name, bool is_folder) const;

 private:
  struct Rule {
    Glob glob;
    bool only_folders = false;
    bool takes_in = false;
  };
  Result<void> Add(std::string_view line);
  std::vector<Rule> rules_;
};

}  // namespace tidemill
