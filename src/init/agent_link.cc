// SPDX-License-Identifier: Apache-2.0
#include "init/agent_link.h"

#include <string.h>
#include <sys/socket.h>

#include <cerrno>

namespace tidemill::init {
namespace {

constexpr std::size_t kReceiveBytes = 64 * 1024;
// Bytes that were sent are cut off in pieces of this size, so that few are moved often.
constexpr std::size_t kCutBytes = 64 * 1024;

bool IsForLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

bool AgentLink::Flush() {
  while (unsent_bytes() > 0) {
    const ssize_t size =
        send(socket_, unsent_.data() + sent_, unsent_bytes(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0) {
      if (!IsForLater(errno)) return false;
      break;
    }
    sent_ += static_cast<std::size_t>(size);
  }
  if (sent_ == unsent_.size() || sent_ >= kCutBytes) {
    unsent_.erase(0, sent_);
    sent_ = 0;
  }
  return true;
}

bool AgentLink::Receive() {
  char bytes[kReceiveBytes];
  const ssize_t size = recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (size < 0) return IsForLater(errno);
  if (size == 0) return false;
  reader_.Feed({bytes, static_cast<std::size_t>(size)});
  explicit_bzero(bytes, static_cast<std::size_t>(size));
  return true;
}

}  // namespace tidemill::init
