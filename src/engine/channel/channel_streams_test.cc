// SPDX-License-Identifier: Apache-2.0
// Streams over a channel; the test is the init at the other end of it.
#include <errno.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/channel/channel.h"
#include "engine/channel/loop_testing.h"
#include "frame/stream.h"

namespace tidemill {
namespace {

using frame::Kind;

class StreamStory : public ChannelEvents {
 public:
  void OnHello() override { ++hellos; }
  void OnLog(std::uint64_t number, std::string_view /*bytes*/) override {
    Tell("log " + std::to_string(number));
  }
  void OnEnd(const ItemEnd& end) override { Tell("item " + std::to_string(end.number)); }
  void OnStreamBytes(std::uint64_t number, bool is_error, std::string_view bytes) override {
    Tell((is_error ? "err " : "out ") + std::to_string(number) + " " + std::string(bytes));
  }
  void OnStreamFull(std::uint64_t number, bool full) override {
    Tell((full ? "full " : "free ") + std::to_string(number));
  }
  void OnStreamEnd(std::uint64_t number, const StreamEnd& end) override {
    Tell("end " + std::to_string(number) + " " + std::to_string(end.exit) + " " +
         std::to_string(end.error) + (end.with_item ? " with" : ""));
  }
  void OnBroken(const std::string& reason) override {
    EXPECT_EQ(broken, "") << "broken twice";
    broken = reason;
  }
  void Tell(const std::string& what) {
    story += what + "|";
    if (on_event) on_event();
  }
  int hellos = 0;
  std::string story;
  std::string broken;
  std::function<void()> on_event;
};

std::string HelloOf(std::uint32_t version, std::uint32_t runs = 0) {
  std::string hello = frame::EncodeHello(runs);
  hello[frame::kHeaderBytes] = static_cast<char>(version);
  return hello;
}

class ChannelStreamsTest : public testing::Test {
 protected:
  void Connect(std::uint32_t version = frame::kVersion) {
    Pair();
    channel_.emplace(runner_.loop(), std::move(ours_), events_);
    Say(HelloOf(version));
    runner_.RunUntil([&] { return events_.hellos == 1; });
  }
  // With an init that was there before the agent, and has run 1.
  void Return(std::uint32_t version) {
    Pair();
    Say(HelloOf(version, 1) + frame::EncodeHave(1, "tag"));
    Greeting greeting(std::move(ours_));
    ASSERT_EQ(greeting.Read(), Greeting::State::kWhole);
    EXPECT_EQ(greeting.greeted().version, version);
    EXPECT_EQ(greeting.greeted().runs.size(), 1U);
    channel_.emplace(runner_.loop(), greeting.TakeSocket(), events_, greeting.greeted(), false);
  }
  void Say(const std::string& bytes) {
    ASSERT_EQ(send(init_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void RunUntilTold(const std::string& story) {
    runner_.RunUntil(
        [&] { return events_.story.size() >= story.size() || !events_.broken.empty(); });
    EXPECT_EQ(events_.story, story);
    EXPECT_EQ(events_.broken, "");
  }
  void RunUntilBroken() {
    runner_.RunUntil([&] { return !events_.broken.empty(); });
    EXPECT_NE(events_.broken.find("init broke the rules"), std::string::npos) << events_.broken;
  }
  static StreamStart Shell(std::uint64_t number) { return {.number = number, .command = {"sh"}}; }
  // The frames that have come to init since the last look. A large one may be on its way yet.
  std::vector<Kind> Heard() {
    std::vector<Kind> kinds;
    std::vector<char> bytes(1 << 20);
    ssize_t size = 0;
    while ((size = recv(init_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
      reader_->Feed({bytes.data(), static_cast<std::size_t>(size)});
      while (const auto frame = reader_->Next()) {
        kinds.push_back(frame->kind);
        last_number_ = frame->number;
        last_payload_ = std::string(frame->payload);
        given_ += frame->kind == Kind::kGive ? last_payload_ : "";
      }
      EXPECT_FALSE(reader_->broken());
    }
    return kinds;
  }

  LoopRunner runner_;
  StreamStory events_;
  Fd init_;
  std::unique_ptr<frame::Reader> reader_;
  std::uint64_t last_number_ = 0;
  std::string last_payload_;
  std::string given_;
  std::optional<Channel> channel_;

 private:
  void Pair() {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    channel_.reset();
    init_ = Fd(ends[1]);
    ours_ = Fd(ends[0]);
    events_ = {};
    reader_ = std::make_unique<frame::Reader>(frame::Reader::Side::kInit);
  }

  Fd ours_;
};

TEST_F(ChannelStreamsTest, OpensAProgramAsItIsGiven) {
  Connect();
  channel_->OpenStream({.number = 5,
                        .command = {"sh", "-c", "x"},
                        .env = {"A=b", "C="},
                        .terminal = true,
                        .rows = 3,
                        .columns = 4});
  EXPECT_EQ(Heard(), (std::vector<Kind>{Kind::kOpen}));
  EXPECT_EQ(last_number_, 5U);
  const auto open = frame::DecodeOpen(last_payload_);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->port, 0);
  EXPECT_TRUE(open->terminal);
  EXPECT_EQ(open->size, (frame::TerminalSize{.rows = 3, .columns = 4}));
  EXPECT_EQ(open->program.argv, (std::vector<std::string_view>{"sh", "-c", "x"}));
  EXPECT_EQ(open->program.env, (std::vector<std::string_view>{"A=b", "C="}));
}

TEST_F(ChannelStreamsTest, OpensAPort) {
  Connect();
  channel_->OpenStream({.number = 5, .port = 8888});
  EXPECT_EQ(Heard(), (std::vector<Kind>{Kind::kOpen}));
  EXPECT_EQ(frame::DecodeOpen(last_payload_).value_or(frame::Open{}).port, 8888);
}

TEST_F(ChannelStreamsTest, TellsWhatComesOfEachInOrder) {
  Connect();
  channel_->OpenStream(Shell(5));
  channel_->OpenStream(Shell(6));
  Say(frame::EncodeOutput(5, "a") + frame::EncodeErrors(6, "b") + frame::EncodeFull(5, true) +
      frame::EncodeFull(5, false) + frame::EncodeOver(6, {.exit = 3}) +
      frame::EncodeOutput(5, "c") + frame::EncodeOver(5, {.with_item = true}));
  RunUntilTold("out 5 a|err 6 b|full 5|free 5|end 6 3 0|out 5 c|end 5 0 0 with|");
}

TEST_F(ChannelStreamsTest, SendsBytesInPiecesAndTheEndOfThem) {
  Connect();
  channel_->OpenStream(Shell(5));
  Heard();
  std::string bytes;
  for (std::size_t i = 0; i < 2 * frame::kStreamBytes + 10; ++i) bytes += static_cast<char>(i);
  channel_->SendToStream(5, bytes);
  EXPECT_EQ(Heard(), std::vector<Kind>(3, Kind::kGive));
  EXPECT_EQ(last_payload_.size(), 10U);
  EXPECT_TRUE(given_ == bytes);
  channel_->SendToStream(5, std::string(frame::kStreamBytes, 'x'));
  EXPECT_EQ(Heard(), std::vector<Kind>(1, Kind::kGive));
  channel_->SendToStream(5, "");
  EXPECT_EQ(Heard(), std::vector<Kind>(1, Kind::kGive));
  EXPECT_EQ(last_payload_, "");
  channel_->SendToStream(5, "more");
  channel_->SendToStream(5, "");
  EXPECT_EQ(Heard(), std::vector<Kind>{}) << "after the end of its input";
}

TEST_F(ChannelStreamsTest, PassesOnSizesAndHolds) {
  Connect();
  channel_->OpenStream(Shell(5));
  Heard();
  channel_->ResizeStream(5, 10, 20);
  EXPECT_EQ(Heard(), std::vector<Kind>{Kind::kResize});
  EXPECT_EQ(frame::DecodeResize(last_payload_), (frame::TerminalSize{.rows = 10, .columns = 20}));
  channel_->ResizeStream(5, 0, 20);
  channel_->ResizeStream(5, 10, 0);
  EXPECT_EQ(Heard(), std::vector<Kind>{}) << "sizes that are none";
  channel_->HoldStream(5, true);
  EXPECT_EQ(Heard(), std::vector<Kind>{Kind::kHold});
  EXPECT_EQ(frame::DecodeFlag(last_payload_), true);
  channel_->HoldStream(5, false);
  EXPECT_EQ(Heard(), std::vector<Kind>{Kind::kHold});
  EXPECT_EQ(frame::DecodeFlag(last_payload_), false);
}

TEST_F(ChannelStreamsTest, SaysNothingToOneThatIsNotOpen) {
  Connect();
  channel_->OpenStream(Shell(5));
  Say(frame::EncodeOver(5, {}));
  RunUntilTold("end 5 0 0|");
  Heard();
  for (const std::uint64_t number : {5, 6}) {
    channel_->SendToStream(number, "x");
    channel_->SendToStream(number, "");
    channel_->ResizeStream(number, 1, 1);
    channel_->HoldStream(number, true);
    channel_->CloseStream(number);
  }
  EXPECT_EQ(Heard(), std::vector<Kind>{});
}

TEST_F(ChannelStreamsTest, DropsWhatComesOfOneThatWasClosedUntilItIsOver) {
  Connect();
  channel_->OpenStream(Shell(5));
  Heard();
  channel_->CloseStream(5);
  EXPECT_EQ(Heard(), std::vector<Kind>{Kind::kClose});
  channel_->CloseStream(5);
  channel_->SendToStream(5, "x");
  channel_->HoldStream(5, true);
  EXPECT_EQ(Heard(), std::vector<Kind>{});
  Say(frame::EncodeOutput(5, "a") + frame::EncodeErrors(5, "b") + frame::EncodeFull(5, true) +
      frame::EncodeOver(5, {.exit = 129}));
  RunUntilTold("end 5 129 0|");
  Say(frame::EncodeOutput(5, "c"));
  RunUntilBroken();
}

TEST_F(ChannelStreamsTest, EndsWhatCannotBeSentAndNeverFromInside) {
  Connect();
  channel_->OpenStream({.number = 1, .command = {"sh", std::string(2 << 20, 'x')}});
  channel_->OpenStream({.number = 2, .command = {"sh"}, .env = {std::string("A=\0", 3)}});
  channel_->OpenStream({.number = 3});
  channel_->OpenStream({.number = 4, .command = {"sh"}, .rows = 0});
  channel_->SendToStream(1, "x");
  channel_->CloseStream(1);
  EXPECT_EQ(events_.story, "");
  const auto number = [](int error) { return std::to_string(error); };
  RunUntilTold("end 1 0 " + number(E2BIG) + "|end 2 0 " + number(EINVAL) + "|end 3 0 " +
               number(EINVAL) + "|end 4 0 " + number(EINVAL) + "|");
  EXPECT_EQ(Heard(), std::vector<Kind>{});
}

TEST_F(ChannelStreamsTest, OpensNoMoreThanInitMayHave) {
  Connect();
  for (std::uint64_t i = 1; i <= frame::kStreamsMost + 1; ++i) channel_->OpenStream(Shell(i));
  EXPECT_EQ(Heard(), std::vector<Kind>(frame::kStreamsMost, Kind::kOpen));
  const std::string refused = "end 33 0 " + std::to_string(EAGAIN) + "|";
  RunUntilTold(refused);
  channel_->CloseStream(1);
  channel_->OpenStream(Shell(40));
  EXPECT_EQ(Heard(), std::vector<Kind>{Kind::kClose}) << "it has the one that was closed yet";
  Say(frame::EncodeOver(1, {}));
  RunUntilTold(refused + "end 40 0 " + std::to_string(EAGAIN) + "|end 1 0 0|");
  channel_->OpenStream(Shell(41));
  EXPECT_EQ(Heard(), std::vector<Kind>{Kind::kOpen});
}

TEST_F(ChannelStreamsTest, SendsNoneToAnInitThatDoesNotKnowThem) {
  const std::string refused = "end 5 0 " + std::to_string(ENOSYS) + "|";
  for (const bool returns : {false, true}) {
    if (returns) {
      Return(frame::kOldestVersion);
    } else {
      Connect(frame::kOldestVersion);
    }
    channel_->OpenStream(Shell(5));
    channel_->SendToStream(5, "x");
    channel_->CloseStream(5);
    EXPECT_EQ(events_.story, "");
    RunUntilTold(refused);
    EXPECT_EQ(Heard(), std::vector<Kind>{});
    Say(frame::EncodeOutput(5, "x"));
    RunUntilBroken();
  }
}

TEST_F(ChannelStreamsTest, OpensThemInAnInitThatHasComeBack) {
  Return(frame::kVersion);
  channel_->OpenStream(Shell(5));
  EXPECT_EQ(Heard(), std::vector<Kind>{Kind::kOpen});
  Say(frame::EncodeOutput(5, "x") + frame::EncodeEnd(1, {.start_ms = 1}) +
      frame::EncodeOver(5, {}));
  RunUntilTold("out 5 x|item 1|end 5 0 0|");
}

TEST_F(ChannelStreamsTest, MayBeDestroyedInAnyEventOfAStream) {
  const std::string events[] = {frame::EncodeOutput(5, "x"), frame::EncodeFull(5, true),
                                frame::EncodeOver(5, {})};
  for (const std::string& each : events) {
    Connect();
    channel_->OpenStream(Shell(5));
    events_.on_event = [this] { channel_.reset(); };
    Say(each + each);
    runner_.RunUntil([&] { return !channel_; });
    EXPECT_EQ(events_.broken, "");
  }
  Connect(frame::kOldestVersion);
  channel_->OpenStream(Shell(5));
  channel_->OpenStream(Shell(6));
  events_.on_event = [this] { channel_.reset(); };
  runner_.RunUntil([&] { return !channel_; });
  EXPECT_EQ(events_.story.find("end 6"), std::string::npos);
}

TEST_F(ChannelStreamsTest, TellsNothingMoreOnceItIsBroken) {
  Connect();
  channel_->OpenStream(Shell(5));
  init_.Reset();
  channel_->OpenStream({.number = 6});
  const auto told = [&] { return !events_.broken.empty(); };
  runner_.RunUntil(told);
  events_.story.clear();
  channel_->OpenStream({.number = 7});
  channel_->SendToStream(5, "x");
  channel_->CloseStream(5);
  bool later = false;
  runner_.loop().After(std::chrono::milliseconds(5), [&] { later = true; });
  runner_.RunUntil([&] { return later; });
  EXPECT_EQ(events_.story, "");
}

// However much waits for an init that does not read, the next run is sent: its end lets others
// follow.
TEST_F(ChannelStreamsTest, DoNotKeepARunFromBeingSent) {
  Connect();
  channel_->OpenStream(Shell(5));
  channel_->SendToStream(5, std::string(2 * Channel::kUnsentMost, 'x'));
  ItemRun run;
  run.number = 1;
  channel_->Run(run, std::vector<std::string>{"foo"});
  std::vector<Kind> heard;
  runner_.RunUntil([&] {
    for (const Kind kind : Heard()) heard.push_back(kind);
    return heard.size() >= 2 + 2 * Channel::kUnsentMost / frame::kStreamBytes;
  });
  EXPECT_EQ(heard.back(), Kind::kRun);
}

// An init that is busy takes little when it comes to it: no more is sent than it would.
TEST_F(ChannelStreamsTest, AreFullWhileInitDoesNotRead) {
  Connect();
  channel_->OpenStream(Shell(5));
  channel_->OpenStream(Shell(6));
  const std::string piece(64 * 1024, 'x');
  std::size_t sent = 0;
  runner_.RunUntil([&] {
    if (!events_.story.empty()) return true;
    channel_->SendToStream(5, piece);
    EXPECT_EQ(events_.story, "") << "told from inside";
    sent += piece.size();
    return sent > frame::kStreamUnwrittenMost;
  });
  RunUntilTold("full 5|full 6|");
  EXPECT_LT(sent, frame::kStreamUnwrittenMost / 2 + piece.size());
  runner_.RunUntil([&] {
    Heard();
    return given_.size() == sent;
  });
  RunUntilTold("full 5|full 6|free 5|free 6|");
}

struct EvilFrame {
  const char* name;
  std::string bytes;
};

std::string WithFlags(std::string frame, std::size_t at, char byte) {
  frame[frame::kHeaderBytes + at] = byte;
  return frame;
}

// While stream 5 is open, stream 6 is over and run 1 runs.
std::vector<EvilFrame> EvilFramesOfStreams() {
  const std::string over = frame::EncodeOver(5, {});
  return {
      {"output of no stream", frame::EncodeOutput(9, "x")},
      {"output of stream 0", frame::EncodeOutput(0, "x")},
      {"output of a run", frame::EncodeOutput(1, "x")},
      {"output of one that is over", frame::EncodeOutput(6, "x")},
      {"output after its Over", over + frame::EncodeOutput(5, "x")},
      {"errors after its Over", over + frame::EncodeErrors(5, "x")},
      {"Full after its Over", over + frame::EncodeFull(5, true)},
      {"Over twice", over + over},
      {"errors of no stream", frame::EncodeErrors(9, "x")},
      {"Full of no stream", frame::EncodeFull(9, false)},
      {"Over of no stream", frame::EncodeOver(9, {})},
      {"Over of a run", frame::EncodeOver(1, {})},
      {"a number that is right in its lower half", frame::EncodeOutput(5 + (1ull << 32), "x")},
      {"a log of a stream", frame::EncodeLog(5, "x")},
      {"the end of a stream as of a run", frame::EncodeEnd(5, {.start_ms = 1})},
      {"empty output", frame::EncodeOutput(5, "")},
      {"empty errors", frame::EncodeErrors(5, "")},
      {"Full of 2", WithFlags(frame::EncodeFull(5, true), 0, 2)},
      {"Full with a high bit", WithFlags(frame::EncodeFull(5, true), 3, '\x80')},
      {"exit 256", frame::EncodeOver(5, {.exit = 256})},
      {"exit -1", frame::EncodeOver(5, {.exit = -1})},
      {"error 4096", frame::EncodeOver(5, {.error = 4096})},
      {"error -2", frame::EncodeOver(5, {.error = -2})},
      {"an exit and an error", frame::EncodeOver(5, {.exit = 1, .error = 2})},
      {"an unknown flag", WithFlags(over, 8, 2)},
      {"an Open", *frame::EncodeOpen(5, {.port = 22})},
      {"a Give", frame::EncodeGive(5, "x")},
      {"a Resize", frame::EncodeResize(5, {})},
      {"a Hold", frame::EncodeHold(5, true)},
      {"a Close", frame::EncodeClose(5)},
  };
}

TEST_F(ChannelStreamsTest, AHostileInitBreaksItsOwnChannel) {
  for (const EvilFrame& evil : EvilFramesOfStreams()) {
    SCOPED_TRACE(evil.name);
    Connect();
    ItemRun run;
    run.number = 1;
    channel_->Run(run, std::vector<std::string>{"foo"});
    channel_->OpenStream(Shell(5));
    channel_->OpenStream(Shell(6));
    Say(frame::EncodeOver(6, {}));
    RunUntilTold("end 6 0 0|");
    Say(evil.bytes);
    RunUntilBroken();
    EXPECT_EQ(events_.story.find("out "), std::string::npos) << events_.story;
    EXPECT_EQ(events_.story.find("item "), std::string::npos) << events_.story;
    EXPECT_EQ(send(init_.get(), "x", 1, MSG_NOSIGNAL), -1) << "it hears no more of us";
  }
}

TEST_F(ChannelStreamsTest, NothingOfAStreamComesBeforeHello) {
  for (const std::string& each : {frame::EncodeOutput(5, "x"), frame::EncodeOver(5, {})}) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    init_ = Fd(ends[1]);
    events_ = {};
    channel_.emplace(runner_.loop(), Fd(ends[0]), events_);
    Say(each);
    RunUntilBroken();
  }
}

}  // namespace
}  // namespace tidemill
