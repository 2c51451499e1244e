// SPDX-License-Identifier: Apache-2.0
#include "server/http/listen.h"

#include <arpa/inet.h>
#include <sys/resource.h>

#include "server/http/query.h"

namespace tidemill {

Result<Listen> ParseListen(std::string_view text) {
  const auto bad = [&] {
    return Fail(Code::kInvalid, "'" + std::string(text) +
                                    "' is not an address and port such as 127.0.0.1:8080 or "
                                    "[::1]:8080");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad();
  const auto port = ParseNumber(text.substr(colon + 1));
  if (!port || *port > 65'535) return bad();
  Listen listen;
  listen.port = static_cast<std::uint16_t>(*port);
  std::string_view host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  const bool six = host.size() > 2 && host.front() == '[' && host.back() == ']';
  listen.address = six ? host.substr(1, host.size() - 2) : host;
  in_addr four_bytes{};
  in6_addr six_bytes{};
  if (six && inet_pton(AF_INET6, listen.address.c_str(), &six_bytes) == 1) {
    listen.loopback = IN6_IS_ADDR_LOOPBACK(&six_bytes) != 0;
    return listen;
  }
  if (!six && inet_pton(AF_INET, listen.address.c_str(), &four_bytes) == 1) {
    listen.loopback = ntohl(four_bytes.s_addr) >> 24 == 127;
    return listen;
  }
  return bad();
}

std::int64_t RaiseOpenFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
  const rlim_t before = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &files) != 0) return static_cast<std::int64_t>(before);
  return static_cast<std::int64_t>(files.rlim_cur);
}

}  // namespace tidemill
