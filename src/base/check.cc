// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tidemill {

void CheckFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: must hold, does not: %s\n", file, line, expression);
  std::abort();
}

}  // namespace tidemill
