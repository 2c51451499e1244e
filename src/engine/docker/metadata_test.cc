// SPDX-License-Identifier: Apache-2.0
// Whom a container can reach: not the metadata service of the cloud that tools/test_network.py
// plays, not the machine, not another container.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"

namespace tidemill {
namespace {

constexpr char kCloud[] = "198.51.100.1";
constexpr char kMachine[] = "198.51.100.2";

// A port of the machine, at all its addresses. Nobody needs to accept: the kernel answers.
Fd Listen(int type, std::uint16_t port) {
  Fd fd(socket(AF_INET6, type | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  at.sin6_port = htons(port);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  if (type == SOCK_STREAM) {
    EXPECT_EQ(listen(fd.get(), 100), 0);
  }
  return fd;
}

// From the machine itself.
bool Reaches(const std::string& address, std::uint16_t port) {
  const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
}

class MetadataTest : public DockerTest {
 protected:
  MetadataTest() {
    for (const std::uint16_t port : {53, 80, 3128, 8080})
      ports_.push_back(Listen(SOCK_STREAM, port));
    udp_ = Listen(SOCK_DGRAM, 8080);
  }
  ~MetadataTest() override {
    container_.reset();
    RunUntilNothingIsLeft();
  }

  static void Command(const std::string& line) { EXPECT_EQ(std::system(line.c_str()), 0) << line; }
  // How often somebody has got through to what is forbidden.
  static int Hits() {
    std::ifstream file(FromEnvironment("TIDEMILL_TEST_CLOUD_HITS"));
    int hits = 0;
    for (std::string line; std::getline(file, line);) {
      const bool is_open = line.find(kCloud) != line.npos || line.find("10.99.0.1") != line.npos ||
                           line.find("2001:db8::1") != line.npos || line.ends_with(" 53\"");
      if (!is_open) ++hits;
    }
    return hits;
  }
  // What the Engine says of the network after `"key":"`.
  std::string OfNetwork(const std::string& key) {
    const std::string json = Docker("GET", "/networks/tidemill");
    const std::string before = "\"" + key + "\":\"";
    const std::size_t begin = json.find(before) + before.size();
    return json.substr(begin, json.find('"', begin) - begin);
  }
  std::string Gateway() { return OfNetwork("Gateway"); }
  // The lines of a probe that begin with the word.
  static std::vector<std::string> Lines(const std::string& text, const std::string& word) {
    std::vector<std::string> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(word)) found.push_back(line.substr(word.size() + 1));
    }
    return found;
  }
  void ExpectMetadataIsShut() {
    const int before = Hits();
    const std::string said = Print("/probe metadata " + Gateway());
    EXPECT_EQ(Lines(said, "THROUGH"), std::vector<std::string>{});
    EXPECT_GE(Lines(said, "blocked").size(), 25u) << said;
    EXPECT_EQ(Hits(), before);
  }
  void ExpectTheRestIsOpen() {
    const std::string targets =
        " tcp:198.51.100.1:80 tcp:10.99.0.1:80 udp:169.254.169.254:53 tcp:169.254.169.254:53";
    EXPECT_EQ(Lines(Print("/probe reach" + targets), "blocked"), std::vector<std::string>{});
  }
  void ExpectTheMachineIsShut(const std::vector<std::string>& addresses) {
    std::string targets;
    for (const std::string& address : addresses) {
      for (const char* port : {"53", "80", "8080"}) targets += " tcp:" + address + ":" + port;
      targets += " udp:" + address + ":8080";
    }
    const std::string said = Print("/probe reach" + targets);
    EXPECT_EQ(Lines(said, "THROUGH"), std::vector<std::string>{});
    EXPECT_EQ(Lines(said, "blocked").size(), 4 * addresses.size()) << said;
    char byte = 0;
    EXPECT_EQ(recv(udp_.get(), &byte, 1, MSG_DONTWAIT), -1);
  }
  void OpenProbe() {
    Recover();
    EXPECT_EQ(holder().engine().open_network(), "");
    OpenImage("probe");
  }
  void Restart() {
    TellDocker("kill9");
    holder().RunUntil([&] { return !DockerHolder::Answers(); });
    TellDocker("start");
    holder().RunUntil([&] { return DockerHolder::Answers(); });
    // What was open has ended with the Engine, or is ended by Recover.
    container_.reset();
    events_.gone.clear();
    Recover();
    RunUntilNothingIsLeft();
    events_.ends.clear();
  }

  std::vector<Fd> ports_;
  Fd udp_;
};

INSTANTIATE_TEST_SUITE_P(DockerAlone, MetadataTest, testing::Values(kMakeDocker));

TEST_P(MetadataTest, IsShutInEveryWayAndTheRestOfTheWorldIsNot) {
  OpenProbe();
  ExpectMetadataIsShut();
  ExpectTheRestIsOpen();
}

// Else the other tests would show nothing.
TEST_P(MetadataTest, WithoutOurRulesItIsOpen) {
  OpenProbe();
  Command("nft delete table inet tidemill");
  const int before = Hits();
  const std::string said = Print("/probe metadata " + Gateway());
  EXPECT_GE(Lines(said, "THROUGH").size(), 15u) << said;
  EXPECT_GT(Hits(), before);
  const auto machine = Lines(Print("/probe reach tcp:" + Gateway() + ":8080"), "THROUGH");
  EXPECT_EQ(machine.size(), 1u);
  Recover();
  ExpectMetadataIsShut();
}

TEST_P(MetadataTest, StaysShutWhateverHappensToTheEngineItsNetworksAndTheRules) {
  OpenProbe();
  Restart();
  OpenImage("probe");
  ExpectMetadataIsShut();
  Docker("POST", "/networks/create", R"({"Name":"another","Driver":"bridge"})");
  ExpectMetadataIsShut();
  Docker("DELETE", "/networks/another");
  ExpectMetadataIsShut();
  container_.reset();
  RunUntilNothingIsLeft();
  Docker("DELETE", "/networks/tidemill");
  OpenImage("probe");
  ExpectMetadataIsShut();
  Command("nft flush ruleset");
  Recover();
  EXPECT_EQ(holder().engine().open_network(), "");
  ExpectMetadataIsShut();
  Restart();  // it has lost its own rules
  OpenImage("probe");
  ExpectMetadataIsShut();
  ExpectTheRestIsOpen();
}

TEST_P(MetadataTest, TheMachineIsShutAtAllItsAddresses) {
  Command("ip address replace 169.254.99.1/32 dev lo && ip address replace 10.77.0.1/32 dev lo");
  OpenProbe();
  ExpectTheMachineIsShut({Gateway(), kMachine, "172.17.0.1", "169.254.99.1", "10.77.0.1"});
}

TEST_P(MetadataTest, ContainersDoNotReachEachOther) {
  OpenProbe();
  RecordedEvents others;
  std::optional<Result<std::unique_ptr<Container>>> other;
  engine().Open(SpecOf("probe"), others, [&](auto got) { other = std::move(got); });
  holder().RunUntil([&] { return other.has_value(); });
  ASSERT_TRUE(*other) << other->error().reason;
  (**other)->Run(Shell(1, "exec /probe listen"));
  holder().RunUntil([&] { return others.logs[1] == "listening\n"; });
  // It has one of the first few addresses, and the machine knows which.
  const std::string gateway = Gateway();
  std::string targets;
  int reached = 0;
  for (int i = 2; i < 8; ++i) {
    const std::string address = gateway.substr(0, gateway.rfind('.') + 1) + std::to_string(i);
    targets += " tcp:" + address + ":7777";
    if (Reaches(address, 7777)) ++reached;
  }
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(Lines(Print("/probe reach" + targets), "THROUGH"), std::vector<std::string>{});
  other.reset();
}

// A network that an administrator has made, with IPv6: ours has none by itself.
TEST_P(MetadataTest, IsShutByIPv6Too) {
  Docker("DELETE", "/networks/tidemill");
  Docker("POST", "/networks/create",
         R"({"Name":"tidemill","Driver":"bridge","EnableIPv6":true,
             "IPAM":{"Config":[{"Subnet":"fd01::/64"}]},
             "Options":{"com.docker.network.bridge.name":"tidemill0",
                        "com.docker.network.bridge.enable_icc":"false"}})");
  OpenProbe();
  // The kernel first makes sure that nobody else has the addresses.
  bool reached = false;
  for (int i = 0; i < 10 && !reached; ++i) {
    reached = !Lines(Print("/probe reach tcp:[2001:db8::1]:80"), "THROUGH").empty();
  }
  EXPECT_TRUE(reached);
  ExpectMetadataIsShut();
  ExpectTheMachineIsShut({"[2001:db8::2]", "[fd01::1]"});
  Command("nft delete table inet tidemill");
  const auto open =
      Lines(Print("/probe reach tcp:[fd00:ec2::254]:80 tcp:[2001:db8::2]:80"), "THROUGH");
  EXPECT_EQ(open.size(), 2u);
  container_.reset();
  RunUntilNothingIsLeft();
  Docker("DELETE", "/networks/tidemill");
  Recover();
}

}  // namespace
}  // namespace tidemill
