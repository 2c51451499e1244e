// SPDX-License-Identifier: Apache-2.0
// Streams on a terminal, on pipes and to a port, and what goes through them.
#include <arpa/inet.h>
#include <netinet/in.h>

#include "init/driven_streams.h"

namespace tidemill::init {
namespace {

using frame::Over;

TEST(StreamTerminal, HasTheSizeThatWasAskedForAndThenAnother) {
  StreamInit init;
  init.RunItem();
  init.OpenShell(2, "stty size; read line; stty size; echo got $line", true);
  init.AwaitOutput(2, "33 77\r\n");
  init.Send(frame::EncodeResize(2, {.rows = 50, .columns = 300}));
  init.Give(2, "some\n");
  EXPECT_EQ(init.AwaitOver(2), Over{});
  EXPECT_EQ(init.output[2], "33 77\r\nsome\r\n50 300\r\ngot some\r\n");
  EXPECT_EQ(init.errors[2], "");
}

// It controls the shell, or there would be no jobs.
TEST(StreamTerminal, InterruptsWhatIsInFrontAndNotTheShell) {
  StreamInit init;
  init.RunItem();
  init.Open(2, {kBusybox, "sh", "-i"}, true, {"PS1=> "});
  init.AwaitOutput(2, "> ");
  const std::string sleep = UniqueSleep();
  init.Give(2, "sleep " + sleep + "\n");
  AwaitAlive(sleep, 1);
  init.Give(2, "\x03");
  AwaitAlive(sleep, 0);
  init.Give(2, "echo al''ive\nexit 7\n");
  EXPECT_EQ(init.AwaitOver(2), Over{.exit = 7});
  EXPECT_NE(init.output[2].find("\r\nalive\r\n"), std::string::npos) << init.output[2];
  EXPECT_EQ(init.output[2].find("job control"), std::string::npos) << init.output[2];
}

TEST(StreamTerminal, TakesWithItsShellWhatThatLeftBehind) {
  StreamInit init;
  init.RunItem();
  init.Open(2, {kBusybox, "sh", "-i"}, true, {"PS1=> "});
  const std::string sleep = UniqueSleep();
  init.Give(2, "sleep " + sleep + " &\n");
  AwaitAlive(sleep, 1);
  init.Give(2, "exit\n");
  init.AwaitOver(2);
  AwaitAlive(sleep, 0);
}

TEST(StreamTerminal, IsToldTheEndOfItsInputAsAPersonWould) {
  StreamInit init;
  init.RunItem();
  init.Open(2, {kBusybox, "cat"}, true);
  init.Give(2, "some\n");
  init.Give(2, "");
  init.Give(2, "more\n");
  EXPECT_EQ(init.AwaitOver(2), Over{});
  EXPECT_EQ(init.output[2], "some\r\nsome\r\n");
}

TEST(StreamTerminal, LosesNothingOfALargeOutput) {
  StreamInit init;
  init.RunItem();
  init.OpenShell(2, "stty raw; head -c 1000000 /dev/zero; exit 3", true);
  EXPECT_EQ(init.AwaitOver(2), Over{.exit = 3});
  EXPECT_EQ(init.output[2].size(), 1'000'000U);
}

TEST(StreamPipes, KeepStdoutAndStderrApart) {
  StreamInit init;
  init.RunItem();
  init.OpenShell(2, "echo out; echo err >&2; tty; exit 5");
  EXPECT_EQ(init.AwaitOver(2), Over{.exit = 5});
  EXPECT_EQ(init.output[2], "out\nnot a tty\n");
  EXPECT_EQ(init.errors[2], "err\n");
  init.OpenShell(3, "kill -9 $$");
  EXPECT_EQ(init.AwaitOver(3), Over{.exit = 137});
}

TEST(StreamPipes, TellTheEndOfTheInput) {
  StreamInit init;
  init.RunItem();
  init.Open(2, {kBusybox, "cat"});
  init.Give(2, "some");
  init.AwaitOutput(2, "some");
  init.Give(2, "more");
  init.Give(2, "");
  EXPECT_EQ(init.AwaitOver(2), Over{});
  EXPECT_EQ(init.output[2], "somemore");
  // One that does not want it.
  init.OpenShell(3, "exec <&-; touch $1/closed; until [ -e $1/go ]; do sleep 0.02; done; exit 4");
  AwaitFile(init.scratch() + "/closed");
  init.Give(3, "some");
  init.Give(3, "more");
  init.Touch("go");
  EXPECT_EQ(init.AwaitOver(3), Over{.exit = 4});
}

TEST(StreamPipes, EndWithTheProgramAndNotWithWhoHasThem) {
  StreamInit init;
  init.RunItem();
  const std::string sleep = UniqueSleep();
  // The second has left the session, and lives until the item ends.
  init.OpenShell(2, "setsid sleep " + sleep + " & echo out; sleep " + sleep + " & exit 6");
  EXPECT_EQ(init.AwaitOver(2), Over{.exit = 6});
  EXPECT_EQ(init.output[2], "out\n");
  init.EndItem();
  EXPECT_EQ(Alive(sleep), 0);
}

TEST(StreamProgram, IsFoundAndHasTheVariablesOfAnItem) {
  const TempFolder folder;
  const std::string program = folder.path() + "/tidemill-stream-probe";
  std::ofstream(program) << "#!/bin/sh\necho $A,$OWN,${TIDEMILL_URL%%//127*},$TIDEMILL_SCRATCH,"
                            "$(cat $TIDEMILL_SECRETS/key),$(pwd)\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  StreamInit init({.secrets = true});
  init.RunItem({{"key", "secret"}});
  const std::string path = "PATH=/nowhere:" + folder.path() + ":/bin:/usr/bin";
  init.Open(2, {"tidemill-stream-probe"}, false, {"A=a", path});
  EXPECT_EQ(init.AwaitOver(2), Over{});
  EXPECT_EQ(init.output[2], "a,from init,http:," + init.scratch() + ",secret," +
                                std::filesystem::current_path().string() + "\n");
  init.Open(3, {"tidemill-stream-probe"}, true);
  EXPECT_EQ(init.AwaitOver(3), Over{.error = ENOENT});
  init.Open(4, {"/etc/passwd"});
  EXPECT_EQ(init.AwaitOver(4), Over{.error = EACCES});
}

TEST(StreamProgram, HasTheRoleAndNoSecretsOfAnItemBefore) {
  StreamInit init({.secrets = true});
  init.RunShell(9, "true", {}, {{"key", "secret"}});
  init.RunItem();
  init.Send(*frame::EncodeRole(R"({"AccessKeyId":"a","SecretAccessKey":"b","Token":"c"})"));
  init.OpenShell(2, "echo ${AWS_CONTAINER_CREDENTIALS_FULL_URI%%//*},$TIDEMILL_SECRETS.");
  init.AwaitOver(2);
  EXPECT_EQ(init.output[2], "http:,.\n");
}

TEST(StreamProgram, IsKilledBeforeInit) {
  for (const uid_t user : {uid_t{0}, uid_t{65534}}) {
    StreamInit init({.user = user});
    init.RunItem();
    init.OpenShell(2, "until grep -qx 1000 /proc/self/oom_score_adj; do :; done");
    EXPECT_EQ(init.AwaitOver(2), Over{});
  }
}

// --- who is slow ---

TEST(StreamHold, LetsNothingComeUntilItIsLifted) {
  constexpr std::size_t kBytes = 4 * 1024 * 1024;
  StreamInit init;
  init.RunItem();
  init.OpenShell(2, "read x; touch $1/begun; head -c " + std::to_string(kBytes) + " /dev/zero");
  init.Send(frame::EncodeHold(2, true));
  init.Give(2, "\n");
  AwaitFile(init.scratch() + "/begun");
  init.OpenShell(3, "echo three");
  init.AwaitOver(3);
  EXPECT_EQ(init.output[2], "");
  init.Send(frame::EncodeHold(2, false));
  EXPECT_EQ(init.AwaitOver(2), Over{});
  EXPECT_EQ(init.output[2].size(), kBytes);
}

TEST(StreamHold, KeepsTheLastOutputOfAProgramThatHasEnded) {
  StreamInit init;
  init.RunItem();
  for (const std::uint64_t number : {2, 3}) {
    init.OpenShell(number, "read x; echo last", number == 3);
    init.Send(frame::EncodeHold(number, true));
  }
  AwaitAlive("read x; echo last", 2);
  init.Give(2, "\n");
  init.Give(3, "\n");
  AwaitAlive("read x; echo last", 0);
  init.OpenShell(4, "true");
  init.AwaitOver(4);
  EXPECT_FALSE(init.overs.contains(2) || init.overs.contains(3));
  init.Send(frame::EncodeHold(2, false) + frame::EncodeHold(3, false));
  init.AwaitOver(2);
  init.AwaitOver(3);
  EXPECT_EQ(init.output[2], "last\n");
  EXPECT_EQ(init.output[3], "\r\nlast\r\n");
}

TEST(StreamFull, IsToldAndThenThatItIsNot) {
  const std::string piece(frame::kStreamBytes, 'x');
  StreamInit init;
  init.RunItem();
  init.OpenShell(2, "while [ ! -e $1/go ]; do sleep 0.02; done; wc -c");
  for (int i = 0; i < 8; ++i) init.Give(2, piece);
  init.AwaitFull(2, true);
  init.Touch("go");
  init.AwaitFull(2, false);
  init.Give(2, piece);
  init.Give(2, "");
  EXPECT_EQ(init.AwaitOver(2), Over{});
  EXPECT_EQ(init.output[2], std::to_string(9 * piece.size()) + "\n");
}

TEST(StreamFull, IsHeededByAnHonestAgent) {
  const std::string piece(frame::kStreamBytes, 'x');
  StreamInit init;
  init.RunItem();
  init.OpenShell(2, "sleep " + UniqueSleep());
  for (std::size_t i = 0; i < 1 + (1 << 16) / piece.size(); ++i) init.Give(2, piece);
  for (std::size_t sent = 0; sent < frame::kStreamUnwrittenMost; sent += piece.size()) {
    init.Give(2, piece);
  }
  EXPECT_EQ(init.AwaitExit(), 3);
}

TEST(StreamOutput, LeavesRoomForTheLogOfTheItem) {
  StreamInit init;
  init.RunShell(1,
                "echo on; while [ ! -e $1/end ]; do sleep 0.02; done;"
                "head -c 1000000 /dev/zero; exit 3");
  init.AwaitStep([&] { return init.logs[1] == "on\n"; });
  for (std::uint64_t number = 2; number < 6; ++number) {
    init.Open(number, {kBusybox, "yes"});
    init.AwaitOutput(number, "y\ny\n");
  }
  init.EndItem();
  EXPECT_EQ(init.ends[1].exit, 3);
  EXPECT_EQ(init.logs[1].size(), 1'000'003U);
}

// --- ports ---

// Listens on loopback, or only has the port.
class HeldPort {
 public:
  HeldPort(int family, bool listens) {
    fd_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_loopback;
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = family == AF_INET ? sizeof(four) : sizeof(six);
    auto* const address =
        family == AF_INET ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
    works_ = bind(fd_, address, size) == 0 && (!listens || listen(fd_, 5) == 0) &&
             getsockname(fd_, address, &size) == 0;
    port_ = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
  }
  ~HeldPort() { close(fd_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  bool works() const { return works_; }
  std::uint16_t port() const { return port_; }
  int Accept() const {
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&readable, 1, kPatienceMs), 1);
    return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  }

 private:
  int fd_ = -1;
  bool works_ = false;
  std::uint16_t port_ = 0;
};

// All that comes until the other side has said that this was it.
std::string ReceiveAll(int fd) {
  std::string all;
  char bytes[4096];
  pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
  while (poll(&readable, 1, kPatienceMs) == 1) {
    const ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
    if (size <= 0) return all;
    all.append(bytes, static_cast<std::size_t>(size));
  }
  ADD_FAILURE() << "nothing more after " << all;
  return all;
}

TEST(StreamPort, IsReachedAtEitherAddress) {
  for (const int family : {AF_INET, AF_INET6}) {
    const HeldPort listener(family, true);
    if (!listener.works() && family == AF_INET6) continue;  // a machine without
    ASSERT_TRUE(listener.works());
    StreamInit init;
    init.RunItem();
    init.OpenPort(2, listener.port());
    init.Give(2, "ping");
    init.Give(2, "");
    const int connection = listener.Accept();
    EXPECT_EQ(ReceiveAll(connection), "ping");
    EXPECT_EQ(send(connection, "pong", 4, MSG_NOSIGNAL), 4);
    init.AwaitOutput(2, "pong");
    close(connection);
    EXPECT_EQ(init.AwaitOver(2), Over{});
    EXPECT_EQ(init.output[2], "pong");
  }
}

TEST(StreamPort, IsRefusedWhereNobodyListens) {
  const HeldPort silent(AF_INET, false);
  ASSERT_TRUE(silent.works());
  StreamInit init;
  init.RunItem();
  init.OpenPort(2, silent.port());
  EXPECT_EQ(init.AwaitOver(2), Over{.error = ECONNREFUSED});
}

TEST(StreamPort, IsLeftWhenNobodyIsThereAnyMore) {
  const HeldPort listener(AF_INET, true);
  StreamInit init;
  init.RunItem();
  init.OpenPort(2, listener.port());
  const int connection = listener.Accept();
  init.Send(frame::EncodeClose(2));
  EXPECT_EQ(init.AwaitOver(2), Over{});
  EXPECT_EQ(ReceiveAll(connection), "");
  close(connection);
}

}  // namespace
}  // namespace tidemill::init
