// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// What {item.FIELD} stands for if the item is a JSON object. Dots lead into objects: "camera.name".
// A string is given as it is, anything else as JSON without spaces. kInvalid: the item is not one
// JSON object. kNotFound: it has no such field, or null there.
Result<std::string> ItemField(std::string_view item, std::string_view field);

}  // namespace tidemill
