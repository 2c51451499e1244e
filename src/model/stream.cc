// SPDX-License-Identifier: Apache-2.0
#include "model/stream.h"

namespace tidemill {

std::vector<std::string> ShellCommand() {
  return {"/bin/sh", "-c", "if command -v bash > /dev/null; then exec bash; else exec sh; fi"};
}

}  // namespace tidemill
