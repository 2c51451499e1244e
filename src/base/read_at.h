// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace tidemill {

// Reads from a place of a file until `size` bytes are there, or its end. The bytes read, or -1 with
// errno.
inline std::int64_t ReadAt(int fd, char* to, std::size_t size, std::int64_t offset) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t some = ::pread(fd, to + got, size - got, offset + static_cast<off_t>(got));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return -1;
    if (some == 0) break;
    got += static_cast<std::size_t>(some);
  }
  return static_cast<std::int64_t>(got);
}

}  // namespace tidemill
