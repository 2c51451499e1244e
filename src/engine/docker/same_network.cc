// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/same_network.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/fd.h"
#include "net/unix_address.h"

namespace tidemill {
namespace {

// Who listens there, as seen from here; 0: nobody, or not in our process namespace.
pid_t ListenerOf(const std::string& path) {
  const auto address = UnixAddress::Of(path);
  if (!address) return 0;
  const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  memcpy(at.sun_path, address->text().c_str(), address->text().size());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) != 0) return 0;
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

}  // namespace

bool IsInOurNetwork(const std::string& socket_path) {
  const pid_t pid = ListenerOf(socket_path);
  if (pid <= 0) return false;
  struct stat theirs{};
  struct stat ours{};
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/net";
  if (stat(path.c_str(), &theirs) != 0 || stat("/proc/self/ns/net", &ours) != 0) return false;
  return theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

}  // namespace tidemill
