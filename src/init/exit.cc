// SPDX-License-Identifier: Apache-2.0
#include "init/exit.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace tidemill::init {

void Complain(const char* what, int error) {
  if (error == 0) {
    dprintf(STDERR_FILENO, "tidemill-init: %s\n", what);
  } else {
    dprintf(STDERR_FILENO, "tidemill-init: %s: %s\n", what, strerror(error));
  }
}

void Die(ExitCode code, const char* what, int error) {
  Complain(what, error);
  _exit(code);
}

}  // namespace tidemill::init
