// SPDX-License-Identifier: Apache-2.0
// Who can be reached.
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "probe.h"

namespace probe {
namespace {

// Nothing here is further away than a bridge and a cable.
constexpr std::chrono::milliseconds kPatience{1500};

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

Address V4(const char* text, int port) {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in*>(&address.bytes);
  in->sin_family = AF_INET;
  in->sin_port = htons(static_cast<std::uint16_t>(port));
  inet_aton(text, &in->sin_addr);  // knows the odd ways to write one, too
  address.size = sizeof(sockaddr_in);
  return address;
}

Address V6(const char* text, int port, const char* interface = nullptr) {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  in->sin6_family = AF_INET6;
  in->sin6_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET6, text, &in->sin6_addr);
  if (interface != nullptr) in->sin6_scope_id = if_nametoindex(interface);
  address.size = sizeof(sockaddr_in6);
  return address;
}

// One try. It has got through when the other side has taken the connection, or has answered.
struct Way {
  std::string name;
  Address to;
  bool is_udp = false;
  std::string say = "GET / HTTP/1.0\r\n\r\n";
  void (*prepare)(int fd) = nullptr;
  int fd = -1;
  std::string heard = {};  // "": nothing yet
};

void Begin(Way& way) {
  const int type = way.is_udp ? SOCK_DGRAM : SOCK_STREAM;
  way.fd = socket(way.to.bytes.ss_family, type | SOCK_NONBLOCK, 0);
  if (way.fd < 0) return;
  if (way.prepare != nullptr) way.prepare(way.fd);
  const auto* to = reinterpret_cast<const sockaddr*>(&way.to.bytes);
  if (connect(way.fd, to, way.to.size) != 0 && errno != EINPROGRESS) {
    close(way.fd);
    way.fd = -1;
    return;
  }
  if (way.is_udp) send(way.fd, way.say.data(), way.say.size(), MSG_NOSIGNAL);
}

// True if it is over, one way or the other.
bool Advance(Way& way, short events) {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(way.fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return true;
  if (!way.is_udp && way.heard.empty() && (events & POLLOUT) != 0) {
    way.heard = "connected ";
    send(way.fd, way.say.data(), way.say.size(), MSG_NOSIGNAL);
    return false;
  }
  if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) return false;
  char bytes[2000];
  const ssize_t got = recv(way.fd, bytes, sizeof(bytes), 0);
  if (got > 0) way.heard.append(bytes, static_cast<std::size_t>(got));
  return got != -1 || errno != EAGAIN;
}

// All at once, so that many that are never answered take no longer than one.
void TryAll(std::vector<Way>& ways) {
  using Clock = std::chrono::steady_clock;
  for (Way& way : ways) Begin(way);
  const auto end = Clock::now() + kPatience;
  while (Clock::now() < end) {
    std::vector<pollfd> polled;
    std::vector<Way*> open;
    for (Way& way : ways) {
      if (way.fd < 0) continue;
      const bool asks = !way.is_udp && way.heard.empty();
      polled.push_back({way.fd, static_cast<short>(asks ? POLLIN | POLLOUT : POLLIN), 0});
      open.push_back(&way);
    }
    if (open.empty()) return;
    poll(polled.data(), polled.size(), 50);
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (polled[i].revents == 0 || !Advance(*open[i], polled[i].revents)) continue;
      close(open[i]->fd);
      open[i]->fd = -1;
    }
  }
}

int Tell(const std::vector<Way>& ways) {
  int through = 0;
  for (const Way& way : ways) {
    printf("%s %s\n", way.heard.empty() ? "blocked" : "THROUGH", way.name.c_str());
    if (!way.heard.empty()) ++through;
  }
  return through == 0 ? 0 : 1;
}

std::string Ask(Address to, bool is_udp, std::string say) {
  std::vector<Way> one{{.name = "", .to = to, .is_udp = is_udp, .say = std::move(say)}};
  TryAll(one);
  return one[0].heard;
}

void BindSource(int fd, const char* address, int port) {
  int on = 1;
  setsockopt(fd, SOL_IP, IP_FREEBIND, &on, sizeof(on));
  const Address from = V4(address, port);
  bind(fd, reinterpret_cast<const sockaddr*>(&from.bytes), from.size);
}

// The packet is addressed to the cloud, which is asked to pass it on.
void SourceRoute(int fd) {
  constexpr unsigned char kOption[8] = {131, 7, 4, 198, 51, 100, 1, 0};
  setsockopt(fd, SOL_IP, IP_OPTIONS, kOption, sizeof(kOption));
}

void FastOpen(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on));
}

constexpr char kMeta[] = "169.254.169.254";
constexpr char kCloud[] = "198.51.100.1";
constexpr char kToken[] =
    "PUT /latest/api/token HTTP/1.1\r\nHost: x\r\n"
    "X-aws-ec2-metadata-token-ttl-seconds: 60\r\nContent-Length: 0\r\n\r\n";
constexpr char kGoogle[] =
    "GET /computeMetadata/v1/ HTTP/1.1\r\nHost: metadata.google.internal\r\n"
    "Metadata-Flavor: Google\r\n\r\n";
constexpr char kByProxy[] = "GET http://169.254.169.254/latest/ HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr char kConnect[] = "CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n";

// Asks the resolver beside the metadata service, which is open, and goes where it says.
Address ByName() {
  const std::string query("\1\2\1\0\0\1\0\0\0\0\0\0\10metadata\6google\10internal\0\0\1\0\1", 42);
  const std::string heard = Ask(V4(kMeta, 53), true, query);
  if (heard.size() < 4) return V4(kMeta, 80);
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, heard.data() + heard.size() - 4, text, sizeof(text));
  return V4(text, 80);
}

Address ByRedirect() {
  const std::string heard = Ask(V4(kCloud, 80), false, "GET /redirect HTTP/1.0\r\n\r\n");
  const std::size_t at = heard.find("Location: http://");
  if (at == heard.npos) return V4(kMeta, 80);
  const std::size_t begin = at + strlen("Location: http://");
  return V4(heard.substr(begin, heard.find('/', begin) - begin).c_str(), 80);
}

}  // namespace

int Reach(std::span<char*> targets) {
  std::vector<Way> ways;
  for (const char* target : targets) {
    const std::string text = target;
    const std::size_t port = text.rfind(':');
    const std::string address = text.substr(4, port - 4);
    const int number = atoi(text.c_str() + port + 1);
    const bool is_v6 = address.starts_with('[');
    const Address to = is_v6 ? V6(address.substr(1, address.size() - 2).c_str(), number)
                             : V4(address.c_str(), number);
    ways.push_back({.name = text, .to = to, .is_udp = text.starts_with("udp")});
  }
  TryAll(ways);
  return Tell(ways);
}

int Listen() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const Address at = V4("0.0.0.0", 7777);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&at.bytes), at.size) != 0) return 1;
  if (listen(fd, 100) != 0) return 1;
  printf("listening\n");
  fflush(stdout);
  while (true) pause();
}

int Metadata(const char* gateway) {
  std::vector<Way> ways{
      {"version 1", V4(kMeta, 80)},
      {"version 2, a token", V4(kMeta, 80), false, kToken},
      {"with Google's header", V4(kMeta, 80), false, kGoogle},
      {"credentials of a task", V4("169.254.170.2", 80)},
      {"another link-local address", V4("169.254.1.1", 80)},
      {"Azure's wire server", V4("168.63.129.16", 80)},
      {"Azure's other port", V4("168.63.129.16", 32526)},
      {"port 8080", V4(kMeta, 8080)},
      {"port 443", V4(kMeta, 443)},
      {"time over UDP", V4(kMeta, 123), true, "time?"},
      {"the address as one number", V4("2852039166", 80)},
      {"the address in octal", V4("0251.0376.0251.0376", 80)},
      {"the address in hexadecimal", V4("0xa9fea9fe", 80)},
      {"an address in IPv6's coat", V6("::ffff:169.254.169.254", 80)},
      {"IPv6 of AWS", V6("fd00:ec2::254", 80)},
      {"IPv6 of Google", V6("fd20:ce::254", 80)},
      {"IPv6 link-local", V6("fe80::1", 80, "eth0")},
      {"by its name", ByName()},
      {"by a redirect", ByRedirect()},
      {"by a proxy on the machine", V4(gateway, 3128), false, kByProxy},
      {"by a tunnel of that proxy", V4(gateway, 3128), false, kConnect},
      {"with another source", V4(kMeta, 80), false, kToken,
       [](int fd) { BindSource(fd, "198.51.100.2", 0); }},
      {"as if it were DNS that answers", V4(kMeta, 80), false, kToken,
       [](int fd) { BindSource(fd, "0.0.0.0", 53); }},
      {"with a source route", V4(kMeta, 80), false, kToken, SourceRoute},
      {"with data in the first packet", V4(kMeta, 80), false, kToken, FastOpen},
  };
  TryAll(ways);
  return Tell(ways);
}

}  // namespace probe
