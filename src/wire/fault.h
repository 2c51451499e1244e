// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tidemill {

// What a person is to see of an error of ParseSpec or ParseCdiSpec, and where in the object it is.
struct SpecFault {
  std::string path;  // "resources.memry"; empty: the object as a whole
  std::string text;  // "unknown field 'memry' in resources; did you mean 'memory'?"
};
SpecFault FaultOf(std::string_view reason);

}  // namespace tidemill
