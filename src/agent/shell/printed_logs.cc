// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/printed_logs.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace tidemill {

void PrintedLogs::Append(const LogPlace&, std::string_view bytes) {
  while (!bytes.empty() && !is_gone_) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      is_gone_ = true;
    }
  }
}

}  // namespace tidemill
