// SPDX-License-Identifier: Apache-2.0
#include "net/name_finder.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace tidemill {
namespace {

using Addresses = std::vector<std::string>;

// Whoever asked has given up by then. It also bounds the queue.
constexpr std::chrono::seconds kLongestWait{10};

std::string TextOf(const addrinfo& one) {
  char text[INET6_ADDRSTRLEN] = "";
  if (one.ai_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one.ai_addr)->sin_addr, text, sizeof text);
  } else if (one.ai_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(one.ai_addr)->sin6_addr, text,
              sizeof text);
  }
  return text;
}

Result<Addresses> Ask(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int error = getaddrinfo(name.c_str(), nullptr, &hints, &first); error != 0) {
    return Fail(Code::kUnavailable, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(first, &freeaddrinfo);
  Addresses addresses;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    std::string text = TextOf(*one);
    const bool is_new = std::find(addresses.begin(), addresses.end(), text) == addresses.end();
    if (!text.empty() && is_new) addresses.push_back(std::move(text));
  }
  return addresses;
}

}  // namespace

void NameFinder::Find(const std::string& name, Done done) {
  const TimePoint asked = loop_.Now();
  auto answer = std::make_shared<Result<Addresses>>(
      Fail(Code::kUnavailable, "too many names are being looked up"));
  pool_.Run(
      [this, name, asked, answer] {
        if (!ending_ && loop_.Now() - asked < kLongestWait) *answer = Ask(name);
      },
      [answer, done = std::move(done)] { done(std::move(*answer)); });
}

}  // namespace tidemill
