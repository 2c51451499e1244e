// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tidemill {

// What a pool says of its machines, and what a job asks of a pool.
using Labels = std::map<std::string, std::string>;

// "zone=a\ntype=c6i\n", as stores keep them. A label's name has no '=', and neither its name nor
// its value a line end. What is not of this form is read as far as it is.
std::string FormatLabels(const Labels& labels);
Labels ParseLabels(std::string_view text);

}  // namespace tidemill
