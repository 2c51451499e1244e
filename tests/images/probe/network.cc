// SPDX-License-Identifier: Apache-2.0
// The network's own doings: raw packets, addresses, routes.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

bool Socket(int family, int type, int protocol = 0) { return socket(family, type, protocol) >= 0; }

struct Message {
  nlmsghdr head;
  char body[64];
};

// Asks the kernel for a change, and whether it was made.
bool Netlink(int protocol, std::uint16_t type, const void* body, std::size_t size) {
  Message message{};
  message.head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(size));
  message.head.nlmsg_type = type;
  message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
  memcpy(message.body, body, size);
  const int fd = socket(AF_NETLINK, SOCK_RAW, protocol);
  if (fd < 0 || send(fd, &message, message.head.nlmsg_len, 0) < 0) return false;
  char answer[1024] = {};
  if (recv(fd, answer, sizeof(answer), 0) < static_cast<ssize_t>(sizeof(nlmsghdr))) return false;
  const auto* error = reinterpret_cast<const nlmsgerr*>(answer + sizeof(nlmsghdr));
  errno = -error->error;
  return error->error == 0;
}

// The interface to the others; loopback where there is none.
int Interface() {
  const unsigned eth0 = if_nametoindex("eth0");
  return static_cast<int>(eth0 != 0 ? eth0 : if_nametoindex("lo"));
}

// With one attribute of an IPv4 address.
template <typename Head>
bool NetlinkAddress(std::uint16_t type, Head head, std::uint16_t attribute, const char* address) {
  struct {
    Head head;
    rtattr attribute;
    in_addr address;
  } body{};
  body.head = head;
  body.attribute.rta_len = RTA_LENGTH(sizeof(in_addr));
  body.attribute.rta_type = attribute;
  inet_aton(address, &body.address);
  return Netlink(NETLINK_ROUTE, type, &body, sizeof(body));
}

bool AddAddress() {
  ifaddrmsg head{};
  head.ifa_family = AF_INET;
  head.ifa_prefixlen = 32;
  head.ifa_index = static_cast<unsigned>(Interface());
  return NetlinkAddress(RTM_NEWADDR, head, IFA_LOCAL, "172.17.0.1");
}

bool AddRoute() {
  rtmsg head{};
  head.rtm_family = AF_INET;
  head.rtm_dst_len = 32;
  head.rtm_table = RT_TABLE_MAIN;
  head.rtm_type = RTN_BLACKHOLE;
  return NetlinkAddress(RTM_NEWROUTE, head, RTA_DST, "198.51.100.77");
}

bool AddNeighbour() {
  ndmsg head{};
  head.ndm_family = AF_INET;
  head.ndm_ifindex = Interface();
  head.ndm_state = NUD_PERMANENT;
  return NetlinkAddress(RTM_NEWNEIGH, head, NDA_DST, "172.17.0.99");
}

bool SetLink() {
  ifinfomsg head{};
  head.ifi_index = Interface();
  head.ifi_change = head.ifi_flags = IFF_PROMISC;
  return Netlink(NETLINK_ROUTE, RTM_SETLINK, &head, sizeof(head));
}

// An empty batch would do nothing: this one names a table to be deleted.
bool DeleteTable() {
  nfgenmsg head{};
  head.nfgen_family = AF_INET;
  constexpr std::uint16_t kDelete = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELTABLE;
  return Netlink(NETLINK_NETFILTER, kDelete, &head, sizeof(head));
}

bool Ioctl(unsigned long what, void* argument) {
  return ioctl(socket(AF_INET, SOCK_DGRAM, 0), what, argument) == 0;
}

ifreq Named() {
  ifreq request{};
  if_indextoname(static_cast<unsigned>(Interface()), request.ifr_name);
  return request;
}

bool SetAddress() {
  ifreq request = Named();
  auto* address = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
  address->sin_family = AF_INET;
  inet_aton("172.17.0.1", &address->sin_addr);
  return Ioctl(SIOCSIFADDR, &request);
}

bool SetHardwareAddress() {
  ifreq request = Named();
  request.ifr_hwaddr.sa_family = 1;
  memcpy(request.ifr_hwaddr.sa_data, "\2\1\2\3\4\5", 6);
  return Ioctl(SIOCSIFHWADDR, &request);
}

bool SetFlags() {
  ifreq request = Named();
  request.ifr_flags = IFF_UP | IFF_PROMISC;
  return Ioctl(SIOCSIFFLAGS, &request);
}

bool AddRouteByIoctl() {
  rtentry route{};
  auto* to = reinterpret_cast<sockaddr_in*>(&route.rt_dst);
  to->sin_family = AF_INET;
  inet_aton("169.254.169.254", &to->sin_addr);
  route.rt_flags = RTF_UP | RTF_HOST;
  char name[] = "lo";
  route.rt_dev = name;
  return Ioctl(SIOCADDRT, &route);
}

bool Option(int level, int name, int value) {
  return setsockopt(socket(AF_INET, SOCK_DGRAM, 0), level, name, &value, sizeof(value)) == 0;
}

constexpr Attempt kAttempts[] = {
    {"a raw socket", [] { return Socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }},
    {"a raw socket for whole packets", [] { return Socket(AF_INET, SOCK_RAW, IPPROTO_RAW); }},
    {"a raw IPv6 socket", [] { return Socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6); }},
    {"a packet socket", [] { return Socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)); }},
    {"a packet socket for datagrams",
     [] { return Socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ARP)); }},
    {"an old packet socket", [] { return Socket(AF_INET, SOCK_PACKET, htons(ETH_P_ALL)); }},
    {"another address by netlink", AddAddress},
    {"a route by netlink", AddRoute},
    {"a neighbour's address by netlink", AddNeighbour},
    {"listen to all by netlink", SetLink},
    {"delete firewall rules", DeleteTable},
    {"another address by ioctl", SetAddress},
    {"another hardware address", SetHardwareAddress},
    {"listen to all by ioctl", SetFlags},
    {"a route by ioctl", AddRouteByIoctl},
    {"a transparent socket", [] { return Option(SOL_IP, IP_TRANSPARENT, 1); }},
    {"a packet mark", [] { return Option(SOL_SOCKET, SO_MARK, 1); }},
    {"a buffer over the limit", [] { return Option(SOL_SOCKET, SO_RCVBUFFORCE, 1 << 30); }},
    {"debugging a socket", [] { return Option(SOL_SOCKET, SO_DEBUG, 1); }},
};

}  // namespace

std::span<const Attempt> NetworkAttempts() { return kAttempts; }

}  // namespace probe
