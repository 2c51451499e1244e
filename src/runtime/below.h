// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// The first of these programs that is there: a whole path, or a name that is looked for in the
// folders of `path`, as PATH has them. `self` is ours, and is passed over: we may be installed
// under the name of the runtime. kNotFound names them all.
Result<std::string> FindRuntimeBelow(const std::vector<std::string>& programs,
                                     std::string_view path, const std::string& self);

// Becomes that program. Returns only if that fails.
Error BecomeProgram(const std::string& program, const std::vector<std::string>& args);

}  // namespace tidemill
