// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

namespace tidemill::init {

// Whether a call on a descriptor that does not block failed only for now.
inline bool IsForLater(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace tidemill::init
