// SPDX-License-Identifier: Apache-2.0
// What items of a plain init get, and what their agent is told of them.
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/beside_test.h"
#include "frame/frame.h"
#include "init/driven_init.h"

namespace tidemill::init {

const std::string kInitProgram = BesideTest("tidemill-init");
const std::string kLoopProbe = BesideTest("loop-probe");

namespace {

std::string LineOf(const std::string& text, const std::string& start) {
  const std::size_t at = ("\n" + text).find("\n" + start);
  if (at == std::string::npos) return "";
  return text.substr(at, text.find('\n', at) - at);
}

// How init ends with these arguments.
int ExitWith(const std::vector<std::string>& arguments) {
  std::vector<char*> argv = {const_cast<char*>("tidemill-init")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    close(STDERR_FILENO);
    execv(kInitProgram.c_str(), argv.data());
    _exit(99);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Arguments, AreRefusedUnlessTheyAreAllThere) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--socket", "/x"},
      {"--scratch", "/tmp"},
      {"--socket", "/x", "--fd", "5", "--scratch", "/tmp"},
      {"--fd", "five", "--scratch", "/tmp"},
      {"--fd", "2", "--scratch", "/tmp"},
      {"--fd", "5x", "--scratch", "/tmp"},
      {"--socket", "/x", "--scratch"},
      {"--socket", "/x", "--scratch", "/tmp", "--more", "1"},
      {"--socket", "/x", "--socket", "/y", "--scratch", "/tmp"},
      {"--socket", "/x", "--scratch", "/tmp", "--secrets"},
      {"--socket", "/x", "--scratch", "/tmp", "--away", "0"},
      {"--socket", "/x", "--scratch", "/tmp", "--away", "1h"},
      {"--socket", "/x", "--scratch", "/tmp", "--secrets", "/tmp", "--secrets", "/tmp"},
  };
  for (const auto& arguments : wrong) EXPECT_EQ(ExitWith(arguments), 2) << arguments.size();
  EXPECT_EQ(ExitWith({"--socket", "/nowhere/socket", "--scratch", "/tmp"}), 1);
  EXPECT_EQ(ExitWith({"--fd", "77", "--scratch", "/tmp"}), 1);
  EXPECT_EQ(ExitWith({"--socket", "/nowhere/socket", "--scratch", "/nowhere"}), 1);
  EXPECT_EQ(ExitWith({"--fd", "77", "--scratch", "/tmp", "--secrets", "/nowhere"}), 1);
}

TEST(Arguments, MayNameASocketToConnectTo) {
  const TempFolder folder;
  const std::string path = folder.path() + "/socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    execl(kInitProgram.c_str(), "tidemill-init", "--socket", path.c_str(), "--scratch",
          folder.path().c_str(), nullptr);
    _exit(99);
  }
  const int accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  const std::string hello = frame::EncodeHello();
  std::string got(hello.size(), '\0');
  EXPECT_EQ(recv(accepted, got.data(), got.size(), MSG_WAITALL),
            static_cast<ssize_t>(hello.size()));
  EXPECT_EQ(got, hello);
  const std::string quit = frame::EncodeQuit();
  EXPECT_EQ(send(accepted, quit.data(), quit.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(quit.size()));
  close(listener);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  close(accepted);
}

TEST(Item, TellsItsExitCode) {
  DrivenInit init;
  for (const int code : {0, 1, 42, 255}) {
    init.RunShell(static_cast<std::uint64_t>(code), "exit " + std::to_string(code));
    const Told told = init.Take();
    EXPECT_EQ(told.number, static_cast<std::uint64_t>(code));
    EXPECT_EQ(told.end.exit, code);
    EXPECT_EQ(told.end.signal, 0);
    EXPECT_EQ(told.end.error, 0);
  }
}

TEST(Item, TellsWhatKilledIt) {
  DrivenInit init;
  for (const int signal : {SIGKILL, SIGTERM, SIGSEGV, SIGPIPE, SIGUSR1}) {
    init.RunShell(1, "kill -" + std::to_string(signal) + " $$");
    const Told told = init.Take();
    EXPECT_EQ(told.end.signal, signal);
    EXPECT_EQ(told.end.exit, 0);
    EXPECT_FALSE(told.end.stopped);
  }
}

TEST(Item, IsMeasured) {
  DrivenInit init;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  init.RunShell(1, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.2");
  const frame::End end = init.Take().end;
  EXPECT_GE(end.duration_us, 200'000);
  EXPECT_GT(end.cpu_us, 1'000);
  EXPECT_LT(end.cpu_us, end.duration_us);
  EXPECT_GT(end.memory_bytes, 100 * 1024);
  EXPECT_LT(end.memory_bytes, 1024 * 1024 * 1024);
  EXPECT_NEAR(
      static_cast<double>(end.start_ms),
      static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()),
      30'000);
}

TEST(Item, WritesBothStreamsInOrder) {
  DrivenInit init;
  std::string expected;
  for (int i = 1; i <= 200; ++i) {
    expected += "out " + std::to_string(i) + "\nerr " + std::to_string(i) + "\n";
  }
  init.RunShell(1, "for i in $(seq 200); do echo out $i; echo err $i >&2; done");
  EXPECT_EQ(init.Take().log, expected);
}

TEST(Item, MayWriteTenMegabytes) {
  DrivenInit init;
  init.RunShell(1, "yes 0123456789abcde | head -c 10000000; exit 5");
  const Told told = init.Take();
  EXPECT_EQ(told.end.exit, 5);
  ASSERT_EQ(told.log.size(), 10'000'000U);
  bool same = true;
  for (std::size_t i = 0; i < told.log.size(); ++i)
    same &= told.log[i] == "0123456789abcde\n"[i % 16];
  EXPECT_TRUE(same);
}

TEST(Item, HasAnEmptyStdinAndNoOtherDescriptor) {
  const int leaked = open("/dev/null", O_RDONLY);  // as an agent could forget to close
  DrivenInit init;
  init.Run(1, {kBusybox, "cat"});
  const Told cat = init.Take();
  EXPECT_EQ(cat.end.exit, 0);
  EXPECT_EQ(cat.log, "");
  init.Run(2, {kBusybox, "ls", "/proc/self/fd"});
  EXPECT_EQ(init.Take().log, "0\n1\n2\n3\n");  // the last is the folder that ls reads
  init.Run(3, {kBusybox, "readlink", "/proc/self/fd/0"});
  EXPECT_EQ(init.Take().log, "/dev/null\n");
  close(leaked);
}

TEST(Item, HasNoSignalBlockedOrIgnored) {
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignore, &before);  // init inherits it
  DrivenInit init;
  sigaction(SIGHUP, &before, nullptr);
  init.Run(1, {kBusybox, "cat", "/proc/self/status"});
  const std::string log = init.Take().log;
  EXPECT_EQ(LineOf(log, "SigBlk:"), "SigBlk:\t0000000000000000");
  EXPECT_EQ(LineOf(log, "SigIgn:"), "SigIgn:\t0000000000000000");
}

TEST(Item, LeadsASessionOfItsOwn) {
  DrivenInit init;
  init.RunShell(1, "set -- $(cat /proc/self/stat); echo $5 $6; echo $$ $$");
  const std::string log = init.Take().log;
  const std::size_t end = log.find('\n');
  EXPECT_EQ(log.substr(0, end) + "\n", log.substr(end + 1));
}

TEST(Item, HasInitsEnvironmentWithTheRunsOverIt) {
  DrivenInit init;
  init.Run(1, {kBusybox, "env"}, {}, {"OWN=replaced", "ADDED=x=y", "OWN2="});
  std::string log = init.Take().log;
  EXPECT_EQ(LineOf(log, "OWN="), "OWN=replaced");
  EXPECT_EQ(LineOf(log, "ADDED="), "ADDED=x=y");
  EXPECT_EQ(LineOf(log, "OWN2="), "OWN2=");
  EXPECT_EQ(log.find("from init"), std::string::npos);
  init.Run(2, {kBusybox, "env"});
  log = init.Take().log;
  EXPECT_EQ(LineOf(log, "OWN="), "OWN=from init");
  EXPECT_EQ(log.find("ADDED"), std::string::npos);
}

TEST(Item, IsFoundInItsOwnPath) {
  const TempFolder folder;
  std::filesystem::create_symlink(kBusybox, folder.path() + "/echo");
  DrivenInit init;
  const std::string path = "PATH=/nowhere:/dev/null:" + folder.path();
  init.Run(1, {"echo", "found"}, {}, {path});
  EXPECT_EQ(init.Take().log, "found\n");
  init.Run(2, {"echo", "found"}, {}, {"PATH=/nowhere"});
  EXPECT_EQ(init.Take().end.error, ENOENT);
  // Where it works is what an empty part means.
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  DrivenInit there;
  std::filesystem::current_path(before);
  there.Run(1, {"echo", "here"}, {}, {"PATH=/nowhere:"});
  EXPECT_EQ(there.Take().log, "here\n");
}

TEST(Item, TellsWhyItCouldNotBeStarted) {
  const TempFolder folder;
  const auto file = [&](const std::string& name, const std::string& text, mode_t mode) {
    std::ofstream(folder.path() + "/" + name) << text;
    chmod((folder.path() + "/" + name).c_str(), mode);
    return folder.path() + "/" + name;
  };
  const std::string denied = file("denied", "#!/bin/busybox sh\n", 0644);
  const std::string script = file("script", "exit 0\n", 0755);
  DrivenInit init;
  const std::vector<std::pair<std::string, int>> cases = {
      {"no-such-program", ENOENT},
      {"/no/such/program", ENOENT},
      {"", ENOENT},
      {denied, EACCES},
      {script, ENOEXEC},
      {folder.path(), EACCES},
      {denied + "/x", ENOTDIR},
      {std::string(300, 'x'), ENAMETOOLONG},
  };
  std::uint64_t number = 0;
  for (const auto& [program, error] : cases) {
    init.Run(++number, {program});
    const Told told = init.Take();
    EXPECT_EQ(told.number, number);
    EXPECT_EQ(told.end.error, error) << program;
    EXPECT_EQ(told.end.exit, 0);
    EXPECT_GT(told.end.start_ms, 0);
  }
  // One that may not be run hides none behind it, but is what is told if there is none.
  init.Run(100, {"denied"}, {}, {"PATH=" + folder.path() + ":/nowhere"});
  EXPECT_EQ(init.Take().end.error, EACCES);
  init.Run(101, {kBusybox, std::string(200'000, 'x')});
  EXPECT_EQ(init.Take().end.error, E2BIG);
  init.RunShell(102, "exit 7");
  EXPECT_EQ(init.Take().end.exit, 7);
}

TEST(Timeout, AsksFirst) {
  DrivenInit init;
  init.RunShell(1, "trap 'echo asked; exit 9' TERM; echo ready; while :; do sleep 0.01; done",
                {.timeout_us = kSecond / 2, .grace_us = 50 * kSecond});
  const Told told = init.Take();
  EXPECT_TRUE(told.log.ends_with("asked\n")) << told.log;  // a shell may tell of its sleep before
  EXPECT_TRUE(told.end.timed_out);
  EXPECT_FALSE(told.end.stopped);
  EXPECT_EQ(told.end.exit, 9);
  EXPECT_GE(told.end.duration_us, kSecond / 2);
}

TEST(Timeout, KillsWhoDoesNotListen) {
  DrivenInit init;
  const std::string sleep = UniqueSleep();
  init.RunShell(1, "trap '' TERM; sleep " + sleep + " & wait; while :; do sleep 1; done",
                {.timeout_us = kSecond / 5, .grace_us = kSecond / 5});
  const Told told = init.Take();
  EXPECT_TRUE(told.end.timed_out);
  EXPECT_EQ(told.end.signal, SIGKILL);
  EXPECT_GE(told.end.duration_us, kSecond * 2 / 5);
  EXPECT_EQ(Alive(sleep), 0);
}

TEST(Timeout, WithoutGraceKillsAtOnce) {
  DrivenInit init;
  init.RunShell(1, "sleep 100", {.timeout_us = kSecond / 10});
  const Told told = init.Take();
  EXPECT_TRUE(told.end.timed_out);
  EXPECT_EQ(told.end.signal, SIGKILL);
}

TEST(Timeout, MayBeTheLongestThereIs) {
  DrivenInit init;
  const auto longest = std::numeric_limits<std::int64_t>::max();
  init.RunShell(1, "echo ready; sleep 100", {longest, longest});
  init.AwaitLog("ready");
  init.Stop(1);
  EXPECT_EQ(init.Take().end.signal, SIGTERM);
}

TEST(Stop, EndsTheOneThatRuns) {
  DrivenInit init;
  init.RunShell(7, "echo ready; sleep 100", {.grace_us = 50 * kSecond});
  init.AwaitLog("ready");
  init.Stop(7);
  const Told told = init.Take();
  EXPECT_EQ(told.number, 7U);
  EXPECT_TRUE(told.end.stopped);
  EXPECT_FALSE(told.end.timed_out);
  EXPECT_EQ(told.end.signal, SIGTERM);
}

TEST(Stop, SkipsOneThatWaitsInItsTurn) {
  DrivenInit init;
  init.RunShell(1, "echo ready; sleep 100", {.grace_us = 50 * kSecond});
  init.RunShell(2, "echo two");
  init.RunShell(3, "echo three");
  init.AwaitLog("ready");
  init.Stop(2);
  init.Stop(99);
  init.Stop(1);
  EXPECT_TRUE(init.Take().end.stopped);
  const Told two = init.Take();
  EXPECT_EQ(two.number, 2U);
  EXPECT_EQ(two.end, frame::End{.skipped = true});
  EXPECT_EQ(two.log, "");
  const Told three = init.Take();
  EXPECT_EQ(three.number, 3U);
  EXPECT_EQ(three.log, "three\n");
  EXPECT_FALSE(three.end.stopped);
}

TEST(Agent, ThatDoesNotReadStopsTheItemAndNothingElse) {
  DrivenInit init;
  const std::string sleep = UniqueSleep();
  const TempFolder began;  // not the scratch folder, which is emptied at the item's end
  const std::string mark = began.path() + "/mark";
  // Far more than all buffers hold, so it can only end by its time.
  init.RunShell(1, "sleep " + sleep + " & touch " + mark + "; yes 0123456789abcde",
                {.timeout_us = kSecond, .grace_us = kSecond});
  init.RunShell(2, "echo next");
  ASSERT_TRUE(Becomes([&] { return std::filesystem::exists(mark); }));
  ASSERT_TRUE(Becomes([&] { return Alive(sleep) == 0; }));  // nobody has read a byte until here
  std::ifstream status("/proc/" + std::to_string(init.pid()) + "/statm");
  std::int64_t pages = 0;
  status >> pages;
  EXPECT_LT(pages * 4096, 16 * 1024 * 1024);
  const Told one = init.Take();
  EXPECT_TRUE(one.end.timed_out);
  EXPECT_GT(one.log.size(), 256U * 1024);
  EXPECT_LT(one.log.size(), 4U * 1024 * 1024);
  EXPECT_EQ(init.Take().log, "next\n");
}

// What waits for room must not wait for anything else once there is room.
TEST(Agent, ThatTakesAllAtOnceGetsTheRest) {
  constexpr int kPipeBytes = 1 << 20;
  // More than init keeps unsent, so that it is rid of all of it in one go.
  DrivenInit init({.send_bytes = 200'000});
  init.RunShell(1,
                "echo pid $$ is; until [ -e $1/go ]; do :; done; exec head -c 1000000 /dev/zero");
  init.RunShell(2, "echo next");
  init.AwaitLog(" is\n");
  const pid_t item = std::stoi(init.log().substr(4));
  // It ends before anybody has read what it wrote.
  const int pipe = open(("/proc/" + std::to_string(item) + "/fd/1").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(fcntl(pipe, F_SETPIPE_SZ, kPipeBytes), kPipeBytes);
  close(pipe);
  std::ofstream(init.scratch() + "/go");
  ASSERT_TRUE(Becomes([&] { return kill(item, 0) != 0; }));
  init.TakeAllAtOnce();
  EXPECT_EQ(init.Take().log.size(), 1'000'000 + ("pid " + std::to_string(item) + " is\n").size());
  EXPECT_EQ(init.Take().log, "next\n");
}

TEST(Agent, ThatGoesAwayTakesAllProcessesWithIt) {
  DrivenInit init;
  const std::string sleep = UniqueSleep();
  init.RunShell(
      1, "trap '' TERM; (setsid sleep " + sleep + " &); sleep " + sleep + " & echo ready; wait");
  init.AwaitLog("ready");
  init.CloseSocket();
  EXPECT_EQ(init.AwaitExit(), 0);
  EXPECT_EQ(Alive(sleep), 0);
}

TEST(Agent, ThatSendsNoFramesIsLeft) {
  const std::string sleep = UniqueSleep();
  const std::string run = *frame::EncodeRun(3, {.argv = {"x"}});
  const std::vector<std::string> broken = {
      std::string(64, 'x'),
      frame::EncodeHello(),
      run.substr(0, run.size() - 1) + "x",
  };
  for (const std::string& bytes : broken) {
    DrivenInit init;
    init.RunShell(1, "(setsid sleep " + sleep + " &); echo ready; sleep " + sleep,
                  {.timeout_us = kSecond / 5});
    init.AwaitLog("ready");
    init.Send(bytes);
    EXPECT_EQ(init.AwaitExit(), 3);
    EXPECT_EQ(Alive(sleep), 0);
  }
}

TEST(Agent, MaySendSixtyFourRunsAheadAndNoMore) {
  DrivenInit init;
  init.RunShell(0, "echo ready; sleep 100");
  init.AwaitLog("ready");
  for (std::uint64_t i = 1; i <= 64; ++i) init.RunShell(i, "exit 0");
  init.Stop(0);
  for (std::uint64_t i = 0; i <= 64; ++i) EXPECT_EQ(init.Take().number, i);
  DrivenInit greedy;
  greedy.RunShell(0, "echo ready; sleep 100");
  greedy.AwaitLog("ready");
  for (std::uint64_t i = 1; i <= 65; ++i) greedy.RunShell(i, "exit 0");
  EXPECT_EQ(greedy.AwaitExit(), 3);
}

TEST(Agent, GetsThousandsOfEndsInOrder) {
  DrivenInit init;
  constexpr std::uint64_t kRuns = 5'000;
  std::uint64_t sent = 0;
  for (std::uint64_t ended = 0; ended < kRuns; ++ended) {
    while (sent < kRuns && sent < ended + 16) init.Run(++sent, {kBusybox, "true"});
    const Told told = init.Take();
    ASSERT_EQ(told.number, ended + 1);
    ASSERT_EQ(told.end.exit + told.end.signal + told.end.error, 0);
    ASSERT_EQ(told.log, "");
  }
}

TEST(Item, DoesNotOutliveAnInitThatIsKilled) {
  DrivenInit init;
  const std::string sleep = UniqueSleep();
  init.RunShell(1, "echo ready; exec sleep " + sleep);
  init.AwaitLog("ready");
  kill(init.pid(), SIGKILL);
  EXPECT_EQ(init.AwaitExit(), -SIGKILL);
  EXPECT_TRUE(Becomes([&] { return Alive(sleep) == 0; }));  // by itself, a moment later
}

TEST(Sigterm, EndsEverything) {
  DrivenInit init;
  const std::string sleep = UniqueSleep();
  init.RunShell(1, "trap '' TERM; (setsid sleep " + sleep + " &); echo ready; sleep " + sleep);
  init.AwaitLog("ready");
  kill(init.pid(), SIGTERM);
  EXPECT_EQ(init.AwaitExit(), 0);
  EXPECT_EQ(Alive(sleep), 0);
}

}  // namespace
}  // namespace tidemill::init
