// SPDX-License-Identifier: Apache-2.0
#include "net/unix_address.h"

#include <fcntl.h>
#include <string.h>
#include <sys/un.h>

#include <cerrno>

namespace tidemill {
namespace {

constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;  // a NUL ends it

}  // namespace

Result<UnixAddress> UnixAddress::Of(const std::string& path) {
  UnixAddress address;
  address.text_ = path;
  if (path.empty() || path.find('\0') != path.npos) {
    return Fail(Code::kInvalid, "not the path of a socket");
  }
  if (path.size() <= kMost) return address;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  address.folder_.Reset(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!address.folder_) {
    return Fail(Code::kInvalid, "cannot open '" + folder + "': " + strerror(errno));
  }
  address.text_ = "/proc/self/fd/" + std::to_string(address.folder_.get()) + "/" +
                  path.substr(slash == path.npos ? 0 : slash + 1);
  if (address.text_.size() > kMost) {
    return Fail(Code::kInvalid, "the name of the socket '" + path + "' is too long");
  }
  return address;
}

}  // namespace tidemill
