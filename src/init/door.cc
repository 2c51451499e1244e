// SPDX-License-Identifier: Apache-2.0
#include "init/door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "init/try_again.h"

namespace tidemill::init {
namespace {

constexpr std::size_t kTokenBytes = 16;
constexpr int kBacklog = 128;
constexpr std::size_t kDoorReadBytes = 64 * 1024;
// The largest answer is a batch of the largest items; a client that reads none of it and asks again
// is no client.
constexpr std::size_t kMaxDoorUnsent = 16 * 1024 * 1024;

// Empty: the kernel gives none.
std::string NewToken() {
  unsigned char random[kTokenBytes];
  if (getrandom(random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random))) return "";
  std::string token;
  for (const unsigned char byte : random) {
    char two[3];
    snprintf(two, sizeof(two), "%02x", byte);
    token += two;
  }
  return token;
}

// As long for a guess that is nearly right as for any other.
bool IsSame(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
  }
  return different == 0;
}

}  // namespace

Door::~Door() {
  for (const Connection& each : connections_) close(each.socket);
  if (listener_ >= 0) close(listener_);
}

int Door::Open() {
  token_ = NewToken();
  if (token_.empty()) return EIO;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, generic, size) != 0 || listen(fd, kBacklog) != 0 ||
      getsockname(fd, generic, &size) != 0) {
    const int error = errno;
    close(fd);
    return error;
  }
  listener_ = fd;
  url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/" + token_;
  return 0;
}

void Door::AddPolls(bool reading, std::vector<pollfd>& polls) const {
  const bool room = connections_.size() < kConnectionsMost;
  polls.push_back({.fd = room && reading ? listener_ : -1, .events = POLLIN, .revents = 0});
  for (const Connection& each : connections_) {
    int events = each.out.empty() ? 0 : POLLOUT;
    // While its request waits, only its end is of interest, which is read as well.
    if (reading) events |= POLLIN;
    polls.push_back({.fd = each.socket, .events = static_cast<short>(events), .revents = 0});
  }
}

void Door::Take(const pollfd* polls, std::size_t count, Answerer& answerer) {
  for (std::size_t i = 1; i < count && i <= connections_.size(); ++i) {
    const int ready = polls[i].revents;
    if (ready == 0) continue;
    Connection& connection = connections_[i - 1];
    bool alive = (ready & (POLLIN | POLLHUP | POLLERR)) == 0 || Receive(connection);
    if (alive) alive = Serve(connection, answerer);
    if (alive) alive = Send(connection);
    if (alive) continue;
    if (connection.asked) answerer.OnClosed(connection.id);
    close(connection.socket);
    connection.socket = -1;
  }
  std::erase_if(connections_, [](const Connection& each) { return each.socket < 0; });
  if (count > 0 && polls[0].revents != 0) LetIn();
}

void Door::LetIn() {
  while (connections_.size() < kConnectionsMost) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    connections_.push_back({.id = next_id_++, .socket = fd});
  }
}

bool Door::Receive(Connection& connection) {
  char bytes[kDoorReadBytes];
  const ssize_t size = recv(connection.socket, bytes, sizeof(bytes), 0);
  if (size < 0) return IsForLater(errno);
  if (size == 0) return false;
  // Nothing may come before the answer, so this is all of one request at most.
  if (connection.asked) return false;
  connection.in.append(bytes, static_cast<std::size_t>(size));
  return connection.in.size() <= kHttpHeadBytes + kHttpBodyBytes;
}

bool Door::Send(Connection& connection) {
  while (!connection.out.empty()) {
    const ssize_t size =
        send(connection.socket, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (size < 0) return IsForLater(errno) && connection.out.size() <= kMaxDoorUnsent;
    connection.out.erase(0, static_cast<std::size_t>(size));
  }
  return !connection.done;
}

bool Door::Serve(Connection& connection, Answerer& answerer) {
  if (connection.asked || connection.done || !connection.out.empty()) return true;
  const HttpRead read = ReadHttp(connection.in);
  switch (read.state) {
    case HttpRead::State::kMore:
      return true;
    case HttpRead::State::kContinue:
      if (!connection.continued) connection.out = "HTTP/1.1 100 Continue\r\n\r\n";
      connection.continued = true;
      return true;
    case HttpRead::State::kRefused:
      Refuse(connection, read.status, "this is no request that is served");
      return true;
    case HttpRead::State::kWhole:
      break;
  }
  if (connection.in.size() > read.bytes) {
    Refuse(connection, 400, "a request has come before the answer to the one before it");
    return true;
  }
  HttpRequest request = read.request;
  connection.asked = true;
  connection.continued = false;
  connection.keep_alive = request.keep_alive;
  const std::string_view secret = request.path.substr(1, token_.size());
  request.path.remove_prefix(1 + secret.size());
  if (IsSame(secret, token_)) {
    answerer.OnRequest(connection.id, request);
  } else {
    Answer(connection.id, HttpProblem(404, "there is nothing; ask below $TIDEMILL_URL"));
  }
  connection.in.erase(0, read.bytes);
  return true;
}

void Door::Refuse(Connection& connection, int status, std::string_view reason) {
  connection.out = FormatHttp(HttpProblem(status, reason), false);
  connection.done = true;
}

Door::Connection* Door::Find(std::uint64_t id) {
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [id](const Connection& each) { return each.id == id; });
  return found == connections_.end() ? nullptr : &*found;
}

void Door::Answer(std::uint64_t id, const HttpAnswer& answer) {
  Connection* const connection = Find(id);
  if (connection == nullptr || !connection->asked) return;
  connection->asked = false;
  connection->out += FormatHttp(answer, connection->keep_alive);
  connection->done = !connection->keep_alive;
  // Most are answered at once; what is left goes with the next turn. The end of one that is over
  // is seen by the next poll.
  if (!Send(*connection)) shutdown(connection->socket, SHUT_RDWR);
}

void Door::DropAll() {
  for (const Connection& each : connections_) close(each.socket);
  connections_.clear();
  while (listener_ >= 0) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    close(fd);
  }
}

}  // namespace tidemill::init
