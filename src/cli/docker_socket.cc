// SPDX-License-Identifier: Apache-2.0
#include "cli/docker_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace tidemill::cli {

std::string DockerSocket(const Surroundings& around) {
  const std::string host = around.Env("DOCKER_HOST").value_or("");
  return host.starts_with("unix://") ? host.substr(7) : "/var/run/docker.sock";
}

std::string WhyNotReached(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) return "DOCKER_HOST is too long";
  socket.copy(address.sun_path, socket.size());
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* const place = reinterpret_cast<const sockaddr*>(&address);
  if (fd && ::connect(fd.get(), place, sizeof address) == 0) return "";
  return std::strerror(errno);
}

}  // namespace tidemill::cli
