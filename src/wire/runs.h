// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/bits.h"
#include "base/result.h"

namespace tidemill {

// A set of offsets as text: runs in ascending order, none of them touching another, such as
// "0-39,44"; "" for none.
std::string FormatRuns(const Bits& bits);

// The set as a string of `length` bits. kInvalid: a number with a leading zero, a run that ends
// before it begins, runs that overlap or do not ascend, an offset of `length` or more, any other
// character.
Result<Bits> ParseRuns(std::string_view text, int length);

}  // namespace tidemill
