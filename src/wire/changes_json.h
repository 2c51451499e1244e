// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tidemill {

struct FieldChange {
  std::string field;
  std::string before;  // as people read it
  std::string after;
  bool operator==(const FieldChange&) const = default;
};

// What applying a file does to one pool or queue.
struct SettingsChange {
  enum class Kind { kAdd, kChange, kRemove };
  Kind kind = Kind::kChange;
  std::string what;  // "pool" or "queue"
  std::string name;
  std::vector<FieldChange> fields;  // none of one that is removed
  bool operator==(const SettingsChange&) const = default;
};

// {"applied":true,"changes":[{"op":"change","what":"queue","name":"night","fields":[...]}]}
std::string FormatChanges(const std::vector<SettingsChange>& changes, bool applied);

}  // namespace tidemill
