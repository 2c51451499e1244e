// SPDX-License-Identifier: Apache-2.0
// When streams begin and end: beside an item, and never without one.
#include "init/driven_streams.h"

namespace tidemill::init {
namespace {

using frame::Over;

// Ends with nothing but SIGKILL.
constexpr char kDeaf[] = "trap '' HUP TERM INT; touch $1/deaf; while :; do sleep 0.1; done; : ";

TEST(StreamBeside, NoItemIsOverAtOnce) {
  StreamInit init;
  init.OpenShell(2, "echo");
  EXPECT_EQ(init.AwaitOver(2), Over{.error = ESRCH});
  init.RunItem();
  init.EndItem();
  init.OpenPort(3, 80);
  EXPECT_EQ(init.AwaitOver(3), Over{.error = ESRCH});
}

TEST(StreamBeside, AnItemThatCameJustBeforeIt) {
  StreamInit init;
  frame::Run run{.argv = {kBusybox, "sleep", "1000"}};
  const frame::Open open{.program = {.argv = {kBusybox, "echo", "two"}}};
  init.Send(*frame::EncodeRun(1, run) + *frame::EncodeOpen(2, open));
  EXPECT_EQ(init.AwaitOver(2), Over{});
  EXPECT_EQ(init.output[2], "two\n");
}

TEST(StreamBeside, TheProgramOfALoop) {
  StreamInit init;
  const std::string folder = init.scratch();
  const std::string script = "echo $$ > $0/pid; touch $0/on; while :; do sleep 0.1; done";
  init.Send(*frame::EncodeProgram({.argv = {kBusybox, "sh", "-c", script, folder}}));
  init.OpenShell(2, "echo");
  EXPECT_EQ(init.AwaitOver(2), Over{.error = ESRCH});
  init.Send(*frame::EncodeItem(1, {.name = 7, .json = "{\"item\":7}"}));
  init.OpenShell(3, "echo three; cat");
  init.AwaitOutput(3, "three");
  AwaitFile(folder + "/on");
  init.OpenShell(4, "kill -9 $(cat $1/pid)");
  EXPECT_EQ(init.AwaitOver(3), (Over{.exit = 137, .with_item = true}));
  init.AwaitEnd(1);
}

TEST(StreamEnd, ComesWithTheItemAndBeforeItsEnd) {
  for (const bool first_process : {false, true}) {
    StreamInit init({.first_process = first_process});
    init.RunItem();
    const std::string sleep = UniqueSleep();
    init.OpenShell(2, std::string(kDeaf) + sleep, true);
    init.OpenShell(3, "setsid sleep " + sleep + " & touch $1/three; sleep " + sleep);
    init.Open(4, {kBusybox, "sh", "-i"}, true, {"PS1=> "});
    init.Give(4, "sleep " + sleep + " &\ntouch " + init.scratch() + "/four\n");
    for (const std::string file : {"deaf", "three", "four"}) AwaitFile(init.scratch() + "/" + file);
    init.Touch("end");
    init.AwaitStep([&] { return init.overs.size() == 3 || init.ends.contains(1); });
    EXPECT_FALSE(init.ends.contains(1));
    for (std::uint64_t number = 2; number <= 4; ++number) {
      EXPECT_EQ(init.overs[number], (Over{.exit = 137, .with_item = true})) << number;
    }
    init.AwaitEnd(1);
    EXPECT_EQ(Alive(sleep), 0);
    init.RunShell(5, "echo on; sleep 1000");
    init.AwaitStep([&] { return init.logs[5] == "on\n"; });
    init.OpenShell(6, "echo six");
    EXPECT_EQ(init.AwaitOver(6), Over{});
  }
}

TEST(StreamEnd, ComesWithAnItemThatIsStopped) {
  StreamInit init;
  init.RunShell(1, "trap '' TERM; echo on; while :; do sleep 0.1; done", {.grace_us = kSecond / 5});
  init.AwaitStep([&] { return init.logs[1] == "on\n"; });
  init.OpenShell(2, "echo two; cat");
  init.AwaitOutput(2, "two");
  init.Stop(1);
  EXPECT_EQ(init.AwaitOver(2), (Over{.exit = 137, .with_item = true}));
  EXPECT_FALSE(init.ends.contains(1));
  init.AwaitEnd(1);
  EXPECT_EQ(init.ends[1].signal, SIGKILL);
}

// It had ended, and is held: nobody waits for its last output now.
TEST(StreamEnd, OfOneThatHadEndedByItselfSaysSo) {
  StreamInit init;
  init.RunItem();
  const std::string sleep = UniqueSleep();
  init.OpenShell(2, "read x; exit 9; : " + sleep);
  init.Send(frame::EncodeHold(2, true));
  AwaitAlive(sleep, 1);
  init.Give(2, "\n");
  AwaitAlive(sleep, 0);
  init.OpenShell(3, "true");
  init.AwaitOver(3);
  init.EndItem();
  EXPECT_EQ(init.overs[2], Over{.exit = 9});
}

TEST(StreamClose, HangsUp) {
  StreamInit init;
  init.RunItem();
  for (const std::uint64_t number : {2, 3}) {
    const std::string sleep = UniqueSleep();
    init.Open(number, {kBusybox, "sleep", sleep}, number == 3);
    AwaitAlive(sleep, 1);
    init.Send(frame::EncodeClose(number) + frame::EncodeClose(number));
    EXPECT_EQ(init.AwaitOver(number), Over{.exit = 129});
    EXPECT_EQ(Alive(sleep), 0);
  }
  // Nothing of what was on its way is to anybody.
  init.Give(2, "late");
  init.Send(frame::EncodeHold(2, true) + frame::EncodeResize(2, {}) + frame::EncodeClose(2));
  init.OpenShell(4, "true");
  EXPECT_EQ(init.AwaitOver(4), Over{});
}

TEST(StreamClose, KillsWhoDoesNotHearOfIt) {
  StreamInit init;
  init.RunItem();
  const std::string mark = UniqueSleep();
  init.OpenShell(2, std::string(kDeaf) + mark, true);
  AwaitFile(init.scratch() + "/deaf");
  init.Send(frame::EncodeClose(2));
  EXPECT_EQ(init.AwaitOver(2), Over{.exit = 137});
  EXPECT_EQ(Alive(mark), 0);
}

TEST(StreamClose, DropsWhatIsHeldOfAProgramThatHasEnded) {
  StreamInit init;
  init.RunItem();
  const std::string mark = UniqueSleep();
  init.OpenShell(2, "read x; echo out; exit 9; : " + mark);
  init.Send(frame::EncodeHold(2, true));
  AwaitAlive(mark, 1);
  init.Give(2, "\n");
  AwaitAlive(mark, 0);
  init.Send(frame::EncodeClose(2));
  EXPECT_EQ(init.AwaitOver(2), Over{.exit = 9});
  EXPECT_EQ(init.output[2], "");
}

TEST(StreamLimits, AreManyAtATime) {
  StreamInit init;
  init.RunItem();
  constexpr std::uint64_t kLast = 10 + frame::kStreamsMost;
  for (std::uint64_t number = 10; number < kLast; ++number) {
    init.Open(number, {kBusybox, "cat"}, number % 2 == 0);
  }
  init.Open(kLast, {kBusybox, "cat"});
  EXPECT_EQ(init.AwaitOver(kLast), Over{.error = EAGAIN});
  for (std::uint64_t number = 10; number < kLast; ++number) {
    init.Give(number, "to " + std::to_string(number) + "\n");
  }
  for (std::uint64_t number = 10; number < kLast; ++number) {
    init.AwaitOutput(number, "to " + std::to_string(number));
    init.Give(number, "");
    EXPECT_EQ(init.AwaitOver(number), Over{});
  }
  init.OpenShell(kLast + 1, "exit 3");
  EXPECT_EQ(init.AwaitOver(kLast + 1), Over{.exit = 3});
}

TEST(StreamLimits, AreKeptToByAnHonestAgent) {
  {
    StreamInit init;
    init.RunItem();
    init.Open(2, {kBusybox, "cat"});
    init.Open(2, {kBusybox, "cat"});
    EXPECT_EQ(init.AwaitExit(), 3);
  }
  std::string open = *frame::EncodeOpen(2, {.port = 80});
  open[frame::kHeaderBytes] = 4;  // a flag that nobody knows
  std::string hold = frame::EncodeHold(2, true);
  hold[frame::kHeaderBytes] = 2;
  for (const std::string& bad : {open, hold, frame::EncodeResize(2, {.rows = 0})}) {
    StreamInit init;
    init.Send(bad);
    EXPECT_EQ(init.AwaitExit(), 3);
  }
}

}  // namespace
}  // namespace tidemill::init
