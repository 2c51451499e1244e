// SPDX-License-Identifier: Apache-2.0
// More of what a hostile init may send, beside the table in channel_test.cc: whatever it is, the
// channel breaks with a reason, an honest one beside it goes on, and no memory is lost.
#include <malloc.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/channel/channel.h"
#include "engine/channel/loop_testing.h"

#if defined(__SANITIZE_ADDRESS__)
// Of g++'s own; its header is not everywhere.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT
#endif

namespace tidemill {
namespace {

using std::string;

// What the process has allocated and not freed.
std::size_t HeldBytes() {
#if defined(__SANITIZE_ADDRESS__)
  return __sanitizer_get_current_allocated_bytes();
#else
  return mallinfo2().uordblks;
#endif
}

class Heard : public ChannelEvents {
 public:
  void OnHello() override { ++hellos; }
  void OnLog(std::uint64_t /*number*/, std::string_view bytes) override { logged += bytes.size(); }
  void OnEnd(const ItemEnd& end) override { ended.push_back(end.number); }
  void OnBroken(const string& reason) override {
    EXPECT_EQ(broken, "") << "broken twice";
    broken = reason;
  }
  int hellos = 0;
  std::size_t logged = 0;
  std::vector<std::uint64_t> ended;
  string broken;
};

// A channel, and the end of it that init has.
struct HostileLine {
  explicit HostileLine(AsioLoop& loop) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    init = Fd(ends[1]);
    channel = std::make_unique<Channel>(loop, Fd(ends[0]), heard);
  }
  void Run(std::uint64_t number, bool is_timed = false) {
    ItemRun run;
    run.number = number;
    if (is_timed) run.timeout = std::chrono::hours(1);
    channel->Run(run, std::vector<string>{"foo"});
  }
  Heard heard;
  Fd init;
  std::unique_ptr<Channel> channel;
};

// What the agent has done before init speaks.
enum class Scene {
  kNotGreeted,  // runs 1 and 2 are sent, and no Hello has come
  kIdle,        // no run at all
  kTwo,         // run 1 runs, run 2 waits
  kTimed,       // the same with a timeout
  kStopped,     // the same, and run 2 was stopped
  kMany,        // 20 runs, of which init has heard of 16
};

struct EvilScene {
  const char* name;
  Scene scene;
  string bytes;
  bool hangs_up = false;  // after them
};

string Number(std::uint64_t value, int bytes) {
  string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}
string ForgedFrame(std::uint32_t kind, std::uint32_t length, std::uint64_t number,
                   const string& payload = "") {
  return Number(kind, 4) + Number(length, 4) + Number(number, 8) + payload;
}

constexpr std::uint32_t kHello = static_cast<std::uint32_t>(frame::Kind::kHello);
constexpr std::uint32_t kLog = static_cast<std::uint32_t>(frame::Kind::kLog);
constexpr std::uint32_t kEnd = static_cast<std::uint32_t>(frame::Kind::kEnd);
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

string End(const frame::End& end, std::uint64_t number = 1) {
  frame::End whole = end;
  if (whole.start_ms == 0) whole.start_ms = 1;
  return frame::EncodeEnd(number, whole);
}
// An honest End, but for the flags.
string Flags(std::uint32_t flags) {
  string end = End({});
  end.replace(frame::kHeaderBytes + 12, 4, Number(flags, 4));
  return end;
}

// Frames that are none, or that may not come in this direction or at this time.
std::vector<EvilScene> WrongFrames() {
  const string log = frame::EncodeLog(1, "x");
  return {
      {"kind 4", Scene::kTwo, ForgedFrame(4, 0, 1)},
      {"kind 15", Scene::kTwo, ForgedFrame(15, 0, 1)},
      {"kind 20", Scene::kTwo, ForgedFrame(20, 0, 1)},
      {"a Program", Scene::kTwo, *frame::EncodeProgram({.argv = {"a"}})},
      {"an Item", Scene::kTwo, *frame::EncodeItem(1, {.json = "{}"})},
      {"NoMore", Scene::kTwo, frame::EncodeNoMore()},
      {"progress of nobody", Scene::kIdle, frame::EncodeProgress(1, {})},
      {"progress of the next", Scene::kTwo, frame::EncodeProgress(2, {})},
      {"progress before Hello", Scene::kNotGreeted, frame::EncodeProgress(1, {})},
      {"progress of more than all", Scene::kTwo, frame::EncodeProgress(1, {.permille = 1001})},
      {"progress below nothing", Scene::kTwo, frame::EncodeProgress(1, {.permille = -1})},
      {"a note of two lines", Scene::kTwo, frame::EncodeProgress(1, {.note = "a\nb"})},
      {"a note that moves the cursor", Scene::kTwo, frame::EncodeProgress(1, {.note = "\x1b[2J"})},
      {"a note that is no text", Scene::kTwo, frame::EncodeProgress(1, {.note = "\xff\xfe"})},
      {"a note that is too long", Scene::kTwo, ForgedFrame(19, 4 + 201, 1, string(205, '\0'))},
      {"others where there are none", Scene::kTwo, End({.signal = 9, .among_others = true})},
      {"a result of a process", Scene::kTwo, End({.result = "1"})},
      {"a result that is too long", Scene::kTwo, ForgedFrame(kEnd, 48 + 4097, 1)},
      {"out of memory and well", Scene::kTwo, Flags(16)},
      {"kind 127", Scene::kTwo, ForgedFrame(127, 4, 1, "abcd")},
      {"kind 128", Scene::kTwo, ForgedFrame(128, 0, 1)},
      {"kind 254", Scene::kTwo, ForgedFrame(254, 0, 1)},
      {"kind 16 of the next byte", Scene::kTwo, ForgedFrame(kHello << 8, 4, 0, Number(1, 4))},
      {"a log with a third byte that must be zero", Scene::kTwo,
       ForgedFrame(kLog | 1 << 16, 1, 1, "x")},
      {"an end with a byte that must be zero", Scene::kTwo, ForgedFrame(kEnd | 1 << 8, 48, 1)},
      {"big-endian", Scene::kTwo, ForgedFrame(kEnd << 24, 48u << 24, 1)},
      {"a run to be run by the agent", Scene::kIdle, *frame::EncodeRun(1, {.argv = {"/bin/sh"}})},
      {"a stop before Hello", Scene::kNotGreeted, frame::EncodeStop(1)},
      {"a Hello of a byte", Scene::kNotGreeted, ForgedFrame(kHello, 1, 0, "\1")},
      {"a Hello with something after its version", Scene::kNotGreeted,
       ForgedFrame(kHello, 8, 0, Number(frame::kVersion, 4) + "more")},
      {"a Hello of 4 GB", Scene::kNotGreeted, ForgedFrame(kHello, 0xffffffff, 0)},
      {"a Hello of the largest number", Scene::kNotGreeted,
       ForgedFrame(kHello, 4, ~std::uint64_t{0}, Number(frame::kVersion, 4))},
      {"the version after ours", Scene::kNotGreeted,
       ForgedFrame(kHello, 4, 0, Number(frame::kVersion + 1, 4))},
      {"a version with the highest bit", Scene::kNotGreeted,
       ForgedFrame(kHello, 4, 0, Number(0x80000000, 4))},
      {"two Hellos at once", Scene::kNotGreeted, frame::EncodeHello() + frame::EncodeHello()},
      {"a thousand Hellos", Scene::kIdle,
       [] {
         string all;
         for (int i = 0; i < 1000; ++i) all += frame::EncodeHello();
         return all;
       }()},
      {"a Hello and an end of no run", Scene::kIdle, End({})},
      {"a log while nothing runs", Scene::kIdle, log},
      {"an empty log while nothing runs", Scene::kIdle, ForgedFrame(kLog, 0, 1)},
      {"an empty log of run 0", Scene::kTwo, ForgedFrame(kLog, 0, 0)},
      {"an end that is empty", Scene::kTwo, ForgedFrame(kEnd, 0, 1)},
      {"an end as long as a log", Scene::kTwo,
       ForgedFrame(kEnd, frame::kPayloadToAgent, 1, string(frame::kPayloadToAgent, '\0'))},
  };
}

// Ends that no true run has.
std::vector<EvilScene> WrongEnds() {
  return {
      {"the end of run 0", Scene::kTwo, End({}, 0)},
      {"a number that is right in its lower half", Scene::kTwo, End({}, 1 + (1ull << 32))},
      {"a number that is right but for its sign", Scene::kTwo, End({}, 1 + (1ull << 63))},
      {"a number in the other order of bytes", Scene::kTwo, End({}, 1ull << 56)},
      {"the end of a run that it has not heard of", Scene::kMany, End({}, 17)},
      {"the log of a run that it has not heard of", Scene::kMany, frame::EncodeLog(20, "x")},
      {"ends in the wrong order", Scene::kMany, End({}, 1) + End({}, 3)},
      {"an end that is skipped over", Scene::kMany, End({}, 2)},
      {"more ends than runs", Scene::kTwo, End({}, 1) + End({}, 2) + End({}, 3)},
      {"an exit code of 256", Scene::kTwo, End({.exit = 256})},
      {"a negative exit code", Scene::kTwo, End({.exit = -1})},
      {"the least exit code", Scene::kTwo, End({.exit = std::numeric_limits<std::int32_t>::min()})},
      {"signal 65", Scene::kTwo, End({.signal = 65})},
      {"signal -9", Scene::kTwo, End({.signal = -9})},
      {"error 4096", Scene::kTwo, End({.error = 4096})},
      {"error -2", Scene::kTwo, End({.error = -2})},
      {"an exit and a signal", Scene::kTwo, End({.exit = 1, .signal = 9})},
      {"an exit and an error", Scene::kTwo, End({.exit = 1, .error = 2})},
      {"a signal and an error", Scene::kTwo, End({.signal = 9, .error = 2})},
      {"all three", Scene::kTwo, End({.exit = 1, .signal = 9, .error = 2})},
      {"all flags", Scene::kTwo, Flags(0xffffffff)},
      {"a flag in the highest bit", Scene::kTwo, Flags(0x80000000)},
      {"a flag beside the known ones", Scene::kTimed, Flags(8)},
      {"stopped, of another's stop", Scene::kStopped, End({.signal = SIGTERM, .stopped = true})},
      {"skipped, of another's stop", Scene::kStopped, frame::EncodeEnd(1, {.skipped = true})},
      {"stopped, of a timeout", Scene::kTimed, End({.signal = SIGTERM, .stopped = true})},
      {"the longest duration", Scene::kTwo, End({.duration_us = kMost})},
      {"a duration of a minute in no time", Scene::kTimed, End({.duration_us = 60'000'000})},
      {"the least duration", Scene::kTwo, End({.duration_us = kLeast})},
      {"the least start", Scene::kTwo, End({.start_ms = kLeast})},
      {"the least processor time", Scene::kTwo, End({.cpu_us = kLeast})},
      {"the least memory", Scene::kTwo, End({.memory_bytes = kLeast})},
  };
}

std::vector<EvilScene> WrongBytes() {
  const string whole_log = frame::EncodeLog(1, string(frame::kPayloadToAgent, 'x'));
  return {
      {"a log, then one byte too many", Scene::kTwo, whole_log + ForgedFrame(kLog, 65'537, 1)},
      {"a whole log in a frame of another kind", Scene::kTwo,
       ForgedFrame(3, frame::kPayloadToAgent, 1, string(frame::kPayloadToAgent, 'x'))},
      {"a megabyte of nothing", Scene::kTwo, string(1 << 20, '\0')},
      {"a megabyte of ones", Scene::kTwo, string(1 << 20, '\xff')},
      {"a shell", Scene::kTwo, "#!/bin/sh\nid > /tmp/x; cat /etc/shadow\n"},
      {"a TLS handshake", Scene::kNotGreeted,
       string("\x16\3\1\2\0\1\0\1\xfc\3\3", 11) + string(64, 'r')},
      {"JSON", Scene::kNotGreeted, R"({"kind":"hello","version":1,"number":0})"},
      {"half a header, then nothing", Scene::kTwo, ForgedFrame(kEnd, 48, 1).substr(0, 8), true},
      {"half an end, then nothing", Scene::kTwo, End({}).substr(0, 40), true},
      {"a log that never comes", Scene::kTwo, ForgedFrame(kLog, frame::kPayloadToAgent, 1), true},
      {"nothing", Scene::kNotGreeted, "", true},
      {"a Hello and nothing", Scene::kTwo, "", true},
  };
}

std::vector<EvilScene> EvilFrames() {
  std::vector<EvilScene> all = WrongFrames();
  for (const auto& more : {WrongEnds(), WrongBytes()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

class HostileInitTest : public testing::Test {
 protected:
  void Send(HostileLine& line, const string& bytes) {
    std::size_t sent = 0;
    runner_.RunUntil([&] {
      if (!line.heard.broken.empty()) return true;
      const ssize_t size = send(line.init.get(), bytes.data() + sent, bytes.size() - sent,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
      if (size > 0) sent += static_cast<std::size_t>(size);
      return sent == bytes.size();
    });
  }
  void Greet(HostileLine& line) {
    Send(line, frame::EncodeHello());
    runner_.RunUntil([&] { return line.heard.hellos == 1; });
  }
  void Set(HostileLine& line, Scene scene) {
    if (scene != Scene::kNotGreeted) Greet(line);
    if (scene == Scene::kIdle) return;
    const std::uint64_t runs = scene == Scene::kMany ? 20 : 2;
    for (std::uint64_t i = 1; i <= runs; ++i) line.Run(i, scene == Scene::kTimed);
    if (scene == Scene::kStopped) line.channel->Stop(2);
  }
  void Attack(const EvilScene& evil) {
    SCOPED_TRACE(evil.name);
    HostileLine line(runner_.loop());
    Set(line, evil.scene);
    Send(line, evil.bytes);
    if (evil.hangs_up) line.init.Reset();
    runner_.RunUntil([&] { return !line.heard.broken.empty(); });
    const string expected = evil.hangs_up ? "init is gone" : "init broke the rules";
    EXPECT_NE(line.heard.broken.find(expected), string::npos) << line.heard.broken;
    EXPECT_LE(line.heard.ended.size(), 2u);
    for (std::size_t i = 0; i < line.heard.ended.size(); ++i) {
      EXPECT_EQ(line.heard.ended[i], i + 1);  // only what was true, in order
    }
    EXPECT_LE(line.heard.logged, frame::kPayloadToAgent);
    if (!evil.hangs_up) {
      EXPECT_EQ(send(line.init.get(), "x", 1, MSG_NOSIGNAL), -1);
    }
  }

  LoopRunner runner_;
};

TEST_F(HostileInitTest, EndsItsOwnContainerWithAReasonAndLeavesOthersAlone) {
  const auto evils = EvilFrames();
  EXPECT_GE(evils.size(), 65u);
  HostileLine honest(runner_.loop());
  Set(honest, Scene::kTwo);
  for (const EvilScene& evil : evils) {
    Attack(evil);
    ASSERT_EQ(honest.heard.broken, "");
  }
  Send(honest, frame::EncodeLog(1, "fine") + End({}, 1) + End({}, 2));
  runner_.RunUntil([&] { return honest.heard.ended.size() == 2; });
  EXPECT_EQ(honest.heard.logged, 4u);
}

TEST_F(HostileInitTest, CostsNoMemoryHoweverOftenItTries) {
  const auto evils = EvilFrames();
  for (const EvilScene& evil : evils) Attack(evil);  // what is made once and kept
  const std::size_t before = HeldBytes();
  constexpr int kTimes = 5;
  for (int i = 0; i < kTimes; ++i) {
    for (const EvilScene& evil : evils) Attack(evil);
  }
  const auto grown = static_cast<std::int64_t>(HeldBytes()) - static_cast<std::int64_t>(before);
  // Less than the smallest object would be for each attack, if it were kept.
  EXPECT_LT(grown, 16 * 1024) << "of " << kTimes * evils.size() << " attacks";
}

// A frame that is announced and never comes holds no more than the frame.
TEST_F(HostileInitTest, HoldsLittleForAFrameThatNeverComes) {
  constexpr std::size_t kLines = 50;
  std::vector<std::unique_ptr<HostileLine>> lines;
  const std::size_t before = HeldBytes();
  for (std::size_t i = 0; i < kLines; ++i) {
    lines.push_back(std::make_unique<HostileLine>(runner_.loop()));
    Set(*lines.back(), Scene::kTwo);
    Send(*lines.back(), ForgedFrame(kLog, frame::kPayloadToAgent, 1, string(1000, 'x')));
  }
  EXPECT_LT(HeldBytes() - before, kLines * 3 * frame::kPayloadToAgent);
  for (const auto& line : lines) EXPECT_EQ(line->heard.broken, "");
}

// One byte of an honest stream changed, at every place and in every bit.
TEST_F(HostileInitTest, NoFlippedBitMakesMoreOfAStreamThanItWas) {
  const string honest = frame::EncodeHello() + frame::EncodeLog(1, "ab") + End({.exit = 3}, 1);
  for (std::size_t bit = 0; bit < honest.size() * 8; ++bit) {
    string bytes = honest;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    HostileLine line(runner_.loop());
    line.Run(1);
    Send(line, bytes);
    line.init.Reset();
    runner_.RunUntil([&] { return !line.heard.broken.empty(); });
    EXPECT_LE(line.heard.ended.size(), 1u) << bit;
    EXPECT_LE(line.heard.logged, honest.size()) << bit;
    EXPECT_LE(line.heard.hellos, 1) << bit;
  }
}

}  // namespace
}  // namespace tidemill
