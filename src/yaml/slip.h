// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tidemill {

// Whether a text is one {word} or {word.word}, as the templates of a command are.
bool IsTemplate(std::string_view text);

struct Slip {
  int line = 0;  // from 1
  std::string advice;
};

// What a person most likely did where YAML went wrong, in this line or the one before: a tab, or a
// {word} without quotes. Nothing if neither.
std::optional<Slip> SlipNear(std::string_view yaml, int line);

}  // namespace tidemill
