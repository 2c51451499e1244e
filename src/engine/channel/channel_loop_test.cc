// SPDX-License-Identifier: Apache-2.0
// A channel to the init of a loop; the test is that init.
#include <sys/socket.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/channel/channel.h"
#include "engine/channel/loop_testing.h"

namespace tidemill {
namespace {

using How = ItemEnd::How;

class RecordedLoop : public ChannelEvents {
 public:
  void OnHello() override {}
  void OnLog(std::uint64_t number, std::string_view bytes) override { logs[number] += bytes; }
  void OnProgress(std::uint64_t number, std::int32_t permille, std::string_view note) override {
    progress.push_back(std::to_string(number) + " " + std::to_string(permille) + " " +
                       std::string(note));
  }
  void OnEnd(const ItemEnd& end) override { ends.push_back(end); }
  void OnBroken(const std::string& reason) override { broken = reason; }

  std::map<std::uint64_t, std::string> logs;
  std::vector<std::string> progress;
  std::vector<ItemEnd> ends;
  std::string broken;
};

class ChannelLoopTest : public testing::Test {
 protected:
  ChannelLoopTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    init_ = Fd(ends[1]);
    channel_.emplace(runner_.loop(), Fd(ends[0]), events_);
    channel_->Load({}, std::vector<std::string>{"program"});
    Say(frame::EncodeHello());
  }
  void Say(const std::string& bytes) {
    ASSERT_EQ(send(init_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void Give(std::uint64_t number, std::size_t padding = 0) {
    ItemRun run;
    run.number = number;
    run.item =
        "{\"item\":" + std::to_string(number) + ",\"x\":\"" + std::string(padding, 'x') + "\"}";
    channel_->Run(run, std::vector<std::string>{});
  }
  static std::string EndOf(std::uint64_t number, frame::End end = {}) {
    end.start_ms = end.skipped ? 0 : 1;
    return frame::EncodeEnd(number, end);
  }
  void RunUntilEnds(std::size_t count) {
    runner_.RunUntil([&] { return events_.ends.size() >= count || !events_.broken.empty(); });
    EXPECT_EQ(events_.broken, "");
  }
  std::vector<std::uint64_t> Numbers() const {
    std::vector<std::uint64_t> numbers;
    for (const ItemEnd& end : events_.ends) numbers.push_back(end.number);
    return numbers;
  }
  // How many frames of this kind init has got by now, if the channel has sent all that it will.
  std::size_t Heard(frame::Kind kind) {
    std::vector<char> bytes(1 << 20);
    const auto read_all = [&] {
      ssize_t size = 0;
      while ((size = recv(init_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
        reader_.Feed({bytes.data(), static_cast<std::size_t>(size)});
        while (const auto frame = reader_.Next()) ++heard_[frame->kind];
      }
    };
    int quiet = 0;
    std::size_t before = 0;
    runner_.RunUntil([&] {
      read_all();
      quiet = heard_[kind] == before ? quiet + 1 : 0;
      before = heard_[kind];
      return quiet == 20;
    });
    return heard_[kind];
  }

  LoopRunner runner_;
  RecordedLoop events_;
  Fd init_;
  frame::Reader reader_{frame::Reader::Side::kInit};
  std::map<frame::Kind, std::size_t> heard_;
  std::optional<Channel> channel_;
};

TEST_F(ChannelLoopTest, TakesEndsInAnyOrder) {
  for (std::uint64_t i = 1; i <= 4; ++i) Give(i);
  EXPECT_EQ(Heard(frame::Kind::kItem), 4U);
  EXPECT_EQ(heard_[frame::Kind::kProgram], 1U);
  Say(frame::EncodeLog(4, "x") + frame::EncodeProgress(2, {500, "half"}) + EndOf(3) +
      EndOf(1, {.signal = 9, .among_others = true}) + EndOf(4, {.exit = 2}) +
      EndOf(2, {.result = "{}"}));
  RunUntilEnds(4);
  EXPECT_EQ(Numbers(), (std::vector<std::uint64_t>{3, 1, 4, 2}));
  EXPECT_EQ(events_.ends[1].how, How::kAmongOthers);
  EXPECT_EQ(events_.ends[0].result, "");
  EXPECT_EQ(events_.ends[3].result, "{}");
  EXPECT_EQ(events_.logs[4], "x");
  EXPECT_EQ(events_.progress, (std::vector<std::string>{"2 500 half"}));
}

TEST_F(ChannelLoopTest, BreaksWithAnInitThatSpeaksOfWhatItDoesNotHave) {
  Give(1);
  Heard(frame::Kind::kItem);
  Say(EndOf(1) + EndOf(1));
  runner_.RunUntil([&] { return !events_.broken.empty(); });
  EXPECT_NE(events_.broken.find("not one of those"), std::string::npos);
  EXPECT_EQ(events_.ends.size(), 1U);
}

TEST_F(ChannelLoopTest, SendsNoMoreAheadThanInitTakes) {
  for (std::uint64_t i = 1; i <= 2000; ++i) Give(i);
  EXPECT_EQ(Heard(frame::Kind::kItem), Channel::kLoopAhead);
  std::string ends;
  for (std::uint64_t i = 1; i <= 100; ++i) ends += EndOf(i);
  Say(ends);
  RunUntilEnds(100);
  EXPECT_EQ(Heard(frame::Kind::kItem), Channel::kLoopAhead + 100);
}

TEST_F(ChannelLoopTest, SendsNoMoreBytesAheadThanInitTakes) {
  constexpr std::size_t kLarge = 1000 * 1000;
  for (std::uint64_t i = 1; i <= 10; ++i) Give(i, kLarge);
  EXPECT_EQ(Heard(frame::Kind::kItem), 4U);
  Say(EndOf(2));
  RunUntilEnds(1);
  EXPECT_EQ(Heard(frame::Kind::kItem), 5U);
}

TEST_F(ChannelLoopTest, EndsWhatCannotBeSentWithoutWaitingForTheOthers) {
  Give(1);
  ItemRun wrong;
  wrong.number = 2;
  wrong.item = "{}";
  channel_->Run(wrong, std::vector<std::string>{});
  Give(3);
  RunUntilEnds(1);
  EXPECT_EQ(Numbers(), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(events_.ends[0].how, How::kNotStarted);
  EXPECT_EQ(Heard(frame::Kind::kItem), 2U);
}

TEST_F(ChannelLoopTest, StopsWhatIsThereAndWhatWaitsHere) {
  for (std::uint64_t i = 1; i <= Channel::kLoopAhead + 2; ++i) Give(i);
  channel_->Stop(Channel::kLoopAhead + 1);
  channel_->Stop(7);
  RunUntilEnds(1);
  EXPECT_EQ(Numbers(), (std::vector<std::uint64_t>{Channel::kLoopAhead + 1}));
  EXPECT_EQ(Heard(frame::Kind::kStop), 1U);
  Say(EndOf(7, {.skipped = true}));
  RunUntilEnds(2);
  EXPECT_EQ(events_.ends[1].how, How::kStopped);
}

TEST_F(ChannelLoopTest, SaysThatThereIsNoMoreBehindTheLast) {
  for (std::uint64_t i = 1; i <= Channel::kLoopAhead + 1; ++i) Give(i);
  channel_->NoMore();
  EXPECT_EQ(Heard(frame::Kind::kNoMore), 0U);
  Say(EndOf(1));
  RunUntilEnds(1);
  EXPECT_EQ(Heard(frame::Kind::kNoMore), 1U);
  EXPECT_EQ(heard_[frame::Kind::kItem], Channel::kLoopAhead + 1);
}

TEST_F(ChannelLoopTest, SaysThatAnEndWasHeard) {
  Give(1);
  Give(2);
  Heard(frame::Kind::kItem);
  Say(EndOf(2));
  RunUntilEnds(1);
  EXPECT_EQ(Heard(frame::Kind::kHeard), 1U);
}

}  // namespace
}  // namespace tidemill
