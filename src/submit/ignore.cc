// SPDX-License-Identifier: Apache-2.0
#include "submit/ignore.h"

#include <utility>

namespace tidemill {
namespace {

// History, caches, environments that an image has of its own, and what desktops leave behind.
constexpr std::string_view kAlways =
    ".git\n.hg/\n.svn/\n__pycache__/\n*.pyc\n.venv/\nvenv/\n.tox/\n.mypy_cache/\n.pytest_cache/\n"
    ".ruff_cache/\n.ipynb_checkpoints/\nnode_modules/\n.DS_Store\n.tidemillignore\n";

}  // namespace

Result<IgnoreRules> IgnoreRules::Parse(std::string_view text) {
  IgnoreRules rules;
  for (const std::string_view part : {kAlways, text}) {
    std::string_view rest = part;
    for (int number = 1; !rest.empty(); ++number) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || line.starts_with('#')) continue;
      if (rules.rules_.size() >= kLines) {
        return Fail(Code::kInvalid, "more than " + std::to_string(kLines) + " lines");
      }
      if (const auto added = rules.Add(line); !added) {
        return Fail(Code::kInvalid, std::to_string(number) + ": " + added.error().reason);
      }
    }
  }
  return rules;
}

Result<void> IgnoreRules::Add(std::string_view line) {
  const bool takes_in = line.starts_with('!');
  if (takes_in) line.remove_prefix(1);
  const bool only_folders = line.ends_with('/');
  if (only_folders) line.remove_suffix(1);
  const bool anywhere = line.find('/') == line.npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  TIDEMILL_TRY(Glob glob, Glob::Parse((anywhere ? "**/" : "") + std::string(line)));
  rules_.push_back({std::move(glob), only_folders, takes_in});
  return {};
}

bool IgnoreRules::LeavesOut(std::string_view name, bool is_folder) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->only_folders && !is_folder) continue;
    if (rule->glob.Matches(name)) return !rule->takes_in;
  }
  return false;
}

}  // namespace tidemill
