// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tidemill {

[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);

}  // namespace tidemill

// For what can be false only by a bug of ours, never for input. Aborts in every build: a process
// that has lost an invariant must not go on writing.
#define TIDEMILL_CHECK(expression) \
  ((expression) ? void(0) : ::tidemill::CheckFailed(#expression, __FILE__, __LINE__))
