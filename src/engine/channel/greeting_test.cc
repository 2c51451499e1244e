// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/greeting.h"

#include <sys/socket.h>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

using State = Greeting::State;

struct GreetingLine {
  GreetingLine() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    init = Fd(ends[1]);
    greeting.emplace(Fd(ends[0]));
  }
  State Say(const std::string& bytes) {
    EXPECT_EQ(send(init.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return greeting->Read();
  }
  Fd init;
  std::optional<Greeting> greeting;
};

TEST(Greeting, ReadsWhatThereIsAndNotAByteMore) {
  const std::string all =
      frame::EncodeHello(2) + frame::EncodeHave(7, "seven") + frame::EncodeHave(9, "");
  const std::string rest = frame::EncodeLog(7, "text");
  GreetingLine line;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    ASSERT_EQ(line.Say(all.substr(i, 1)), State::kMore) << i;
  }
  ASSERT_EQ(line.Say(all.substr(all.size() - 1) + rest), State::kWhole);
  ASSERT_EQ(line.greeting->greeted().runs.size(), 2U);
  EXPECT_EQ(line.greeting->greeted().runs[0].number, 7U);
  EXPECT_EQ(line.greeting->greeted().runs[0].tag, "seven");
  EXPECT_EQ(line.greeting->greeted().runs[1].tag, "");
  const Fd socket = line.greeting->TakeSocket();
  std::string left(100, '\0');
  const ssize_t size = recv(socket.get(), left.data(), left.size(), MSG_DONTWAIT);
  EXPECT_EQ(left.substr(0, static_cast<std::size_t>(size)), rest);
}

TEST(Greeting, TakesAnInitOfTheOldestVersionThatIsAsGood) {
  std::string hello = frame::EncodeHello(1);
  hello[frame::kHeaderBytes] = static_cast<char>(frame::kOldestVersion);
  GreetingLine line;
  ASSERT_EQ(line.Say(hello + frame::EncodeHave(7, "seven")), State::kWhole);
  EXPECT_EQ(line.greeting->greeted().version, frame::kOldestVersion);
  EXPECT_EQ(line.greeting->greeted().runs.size(), 1U);
}

TEST(Greeting, IsBrokenByWhatAnHonestInitDoesNotSay) {
  const std::string hello = frame::EncodeHello(2);
  std::string old = hello;
  old[frame::kHeaderBytes] = static_cast<char>(frame::kOldestVersion - 1);
  std::string later = hello;
  later[frame::kHeaderBytes] = static_cast<char>(frame::kVersion + 1);
  const std::string cases[] = {
      frame::EncodeHave(1, ""),
      hello + hello,
      hello + frame::EncodeLog(1, "x"),
      hello + frame::EncodeHave(1, "a") + frame::EncodeHave(1, "b"),
      hello + frame::EncodeHave(1, "a") + frame::EncodeEnd(1, {}),
      frame::EncodeHello(frame::kRunsMost + 1),
      old,
      later,
      std::string(64, 'x'),
      std::string(64, '\0'),
  };
  for (const std::string& each : cases) {
    GreetingLine line;
    EXPECT_EQ(line.Say(each), State::kBroken);
  }
  GreetingLine gone;
  gone.Say(hello);
  gone.init.Reset();
  EXPECT_EQ(gone.greeting->Read(), State::kBroken);
}

}  // namespace
}  // namespace tidemill
