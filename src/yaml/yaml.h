// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// A YAML document as JSON, and where its fields stood.
struct YamlText {
  std::string json;
  // "resources.memory", "command[2]" -> line, counted from 1.
  std::map<std::string, int, std::less<>> lines;

  // The line of a field, or of the nearest around it that is there.
  int LineOf(std::string_view path) const;
};

// What a person writes by hand is far below these; aliases that multiply are not.
inline constexpr std::size_t kYamlBytes = 64 * 1024;
inline constexpr int kYamlNodes = 10'000;
inline constexpr int kYamlDepth = 32;

struct YamlLimits {
  std::size_t bytes = kYamlBytes;
  int nodes = kYamlNodes;
  // false: a whole number such as 0644 is refused. Here it is decimal, as in YAML 1.2, but programs
  // that read YAML 1.1 take it for octal.
  bool leading_zeros = true;
};

// One document. Words without quotes are read as YAML 1.2 says: true, false and null, whole numbers
// and fractions; all else is text, also `yes` and `1:30`. kInvalid as "line 4: ..." for what is not
// YAML, crosses a limit, or has no JSON: a name twice in one object, a name that is neither text
// nor a whole number.
Result<YamlText> ToJson(std::string_view yaml, const YamlLimits& limits = {});

}  // namespace tidemill
