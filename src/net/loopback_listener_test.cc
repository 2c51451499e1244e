// SPDX-License-Identifier: Apache-2.0
#include "net/loopback_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/fd.h"

namespace tidemill {
namespace {

Fd ConnectTo(const char* address, std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  inet_pton(AF_INET, address, &place.sin_addr);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0) return Fd();
  return fd;
}

class LoopbackListenerTest : public testing::Test {
 protected:
  std::unique_ptr<LoopbackListener> Listen(std::uint16_t port) {
    auto made = LoopbackListener::Listen(loop_, port, [this](std::unique_ptr<ByteStream> stream) {
      streams_.push_back(std::move(stream));
      ByteStream* const one = streams_.back().get();
      one->Start({.on_bytes = [one](std::string_view bytes) { one->Send(bytes); },
                  .on_end = [this](const std::string&) { loop_.Stop(); }});
    });
    EXPECT_TRUE(made) << made.error().reason;
    return made ? *std::move(made) : nullptr;
  }

  AsioLoop loop_;
  std::vector<std::unique_ptr<ByteStream>> streams_;
};

TEST_F(LoopbackListenerTest, GivesAStreamForEachConnection) {
  const auto listener = Listen(0);
  Fd fd = ConnectTo("127.0.0.1", listener->port());
  ASSERT_GE(fd.get(), 0);
  ASSERT_EQ(::send(fd.get(), "hello", 5, 0), 5);
  ::shutdown(fd.get(), SHUT_WR);
  loop_.Run();
  char back[8] = "";
  EXPECT_EQ(::recv(fd.get(), back, sizeof back, MSG_WAITALL), 5);
  EXPECT_STREQ(back, "hello");
}

TEST_F(LoopbackListenerTest, AnotherAddressOfTheMachineDoesNotLeadThere) {
  const auto listener = Listen(0);
  EXPECT_LT(ConnectTo("127.0.0.2", listener->port()).get(), 0);
}

TEST_F(LoopbackListenerTest, SaysThatAPortIsTaken) {
  const auto listener = Listen(0);
  const auto second = LoopbackListener::Listen(loop_, listener->port(), [](auto) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
}

TEST_F(LoopbackListenerTest, LetsNobodyInAfterItsEnd) {
  auto listener = Listen(0);
  const std::uint16_t port = listener->port();
  listener.reset();
  EXPECT_LT(ConnectTo("127.0.0.1", port).get(), 0);
}

}  // namespace
}  // namespace tidemill
