// SPDX-License-Identifier: Apache-2.0
// An init whose agent goes away, and that meets another one. The test is both agents.
#include <sys/un.h>

#include <cstring>
#include <map>

#include "frame/stream.h"
#include "init/clocks.h"
#include "init/driven_init.h"

namespace tidemill::init {
namespace {

// The agents that one init meets at its socket, one after the other.
class Agents {
 public:
  // `away`: for how many seconds init waits for another one.
  explicit Agents(const std::string& away = "600") {
    path_ = folder_.path() + "/agent.sock";
    std::filesystem::create_directory(scratch());
    Listen();
    pid_ = fork();
    if (pid_ == 0) {
      execl(kInitProgram.c_str(), "tidemill-init", "--socket", path_.c_str(), "--scratch",
            scratch().c_str(), "--away", away.c_str(), nullptr);
      _exit(97);
    }
    Meet();
  }
  ~Agents() {
    Cut();
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    if (!HasEnded(pid_)) kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  std::string scratch() const { return folder_.path() + "/scratch"; }
  // Goes away without a word.
  void Cut() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
    if (listener_ >= 0) close(std::exchange(listener_, -1));
    unlink(path_.c_str());
  }
  // Another agent; it reads what init has.
  void Return() {
    Listen();
    Meet();
  }
  void Send(std::string_view bytes) {
    ASSERT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void RunShell(std::uint64_t number, const std::string& script) {
    const std::string tag = "tag " + std::to_string(number);
    const std::string folder = scratch();
    Send(*frame::EncodeRun(
        number, {.grace_us = kSecond, .argv = {kBusybox, "sh", "-c", script, folder}, .tag = tag}));
  }
  // The next frame but for Hello. Valid until the next call.
  std::optional<frame::Frame> Next() {
    while (true) {
      if (auto got = reader_->Next()) return got;
      pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
      if (poll(&readable, 1, kPatienceMs) != 1) return std::nullopt;
      std::vector<char> bytes(1 << 16);
      const ssize_t size = recv(socket_, bytes.data(), bytes.size(), 0);
      if (size <= 0) return std::nullopt;
      reader_->Feed({bytes.data(), static_cast<std::size_t>(size)});
    }
  }
  // Reads up to the End of a run, which is heard or not.
  void TakeEnd(std::uint64_t number, bool is_heard = true) {
    while (const auto got = Next()) {
      if (got->kind == frame::Kind::kLog) logs[got->number] += got->payload;
      if (got->kind != frame::Kind::kEnd) continue;
      EXPECT_EQ(got->number, number);
      exits[got->number].push_back(frame::DecodeEnd(got->payload)->exit);
      if (is_heard) Send(frame::EncodeHeard(number));
      return;
    }
    ADD_FAILURE() << "no End of " << number;
  }
  int AwaitExit() {
    if (!HasEnded(pid_)) {
      ADD_FAILURE() << "init does not end";
      return -1000;
    }
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::map<std::uint64_t, std::string> haves;  // of the last Hello
  std::map<std::uint64_t, std::string> logs;
  std::map<std::uint64_t, std::vector<int>> exits;

 private:
  void Listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(listen(listener_, 1), 0);
  }
  void Meet() {
    pollfd readable{.fd = listener_, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, kPatienceMs), 1);
    socket_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    reader_.emplace(frame::Reader::Side::kAgent);
    haves.clear();
    auto got = Next();
    ASSERT_TRUE(got && got->kind == frame::Kind::kHello);
    const auto hello = frame::DecodeHello(got->payload);
    ASSERT_TRUE(hello);
    for (std::uint32_t i = 0; i < hello->runs; ++i) {
      got = Next();
      ASSERT_TRUE(got && got->kind == frame::Kind::kHave);
      haves[got->number] = got->payload;
    }
    EXPECT_EQ(haves.size(), hello->runs);
  }

  const TempFolder folder_;
  std::string path_;
  int listener_ = -1;
  int socket_ = -1;
  pid_t pid_ = 0;
  std::optional<frame::Reader> reader_;
};

void Await(const std::string& file) {
  ASSERT_TRUE(Becomes([&] { return std::filesystem::exists(file); })) << file;
}

using Haves = std::map<std::uint64_t, std::string>;

TEST(Return, TellsTheNextAgentWhatThereIs) {
  Agents agents;
  agents.RunShell(1, "touch $0/on; while [ ! -e $0/go ]; do sleep 0.02; done; echo one; exit 3");
  agents.RunShell(2, "echo two");
  Await(agents.scratch() + "/on");
  agents.Cut();
  agents.Return();
  EXPECT_EQ(agents.haves, (Haves{{1, "tag 1"}, {2, "tag 2"}}));
  std::ofstream(agents.scratch() + "/go") << "";
  agents.TakeEnd(1);
  agents.TakeEnd(2);
  EXPECT_EQ(agents.exits[1], std::vector<int>{3});
  EXPECT_EQ(agents.logs[1], "one\n");
  EXPECT_EQ(agents.logs[2], "two\n");
  agents.RunShell(3, "exit 4");
  agents.TakeEnd(3);
  EXPECT_EQ(agents.exits[3], std::vector<int>{4});
}

TEST(Return, SaysAnEndAgainUntilItIsHeard) {
  Agents agents;
  agents.RunShell(1, "exit 3");
  agents.TakeEnd(1, false);
  for (int i = 0; i < 2; ++i) {
    agents.Cut();
    agents.Return();
    EXPECT_EQ(agents.haves, (Haves{{1, "tag 1"}}));
    agents.TakeEnd(1, i == 1);
  }
  agents.RunShell(2, "exit 4");
  agents.TakeEnd(2);  // by now it has read that the first was heard
  agents.Cut();
  agents.Return();
  EXPECT_EQ(agents.exits[1], (std::vector<int>{3, 3, 3}));
  EXPECT_EQ(agents.haves.count(1), 0U);
}

TEST(Return, GoesOnMeanwhileAndKeepsWhatIsWritten) {
  Agents agents;
  agents.RunShell(1, "touch $0/on; while [ ! -e $0/go ]; do sleep 0.02; done; echo one");
  agents.RunShell(2, "touch /proc/self/fd/1; echo two; exit 5");
  Await(agents.scratch() + "/on");
  agents.Cut();
  std::ofstream(agents.scratch() + "/go") << "";
  // The scratch folder is emptied when an item has ended.
  ASSERT_TRUE(Becomes([&] { return !std::filesystem::exists(agents.scratch() + "/go"); }));
  agents.Return();
  EXPECT_EQ(agents.haves, (Haves{{1, "tag 1"}, {2, "tag 2"}}));
  agents.TakeEnd(1);
  agents.TakeEnd(2);
  EXPECT_EQ(agents.logs[1], "one\n");
  EXPECT_EQ(agents.logs[2], "two\n");
  EXPECT_EQ(agents.exits[2], std::vector<int>{5});
}

TEST(Return, LetsWhoWritesTooMuchWaitForTheNextAgent) {
  Agents agents;
  agents.RunShell(1, "touch $0/on; yes | head -c 5000000; exit 6");
  Await(agents.scratch() + "/on");
  agents.Cut();
  agents.Return();
  EXPECT_EQ(agents.haves, (Haves{{1, "tag 1"}}));
  agents.TakeEnd(1);
  // What was on its way when the stream was cut is gone, and nothing else.
  EXPECT_LE(agents.logs[1].size(), 5'000'000U);
  EXPECT_GT(agents.logs[1].size(), 4'000'000U);
}

TEST(Return, TellsOfTheItemsOfALoop) {
  Agents agents;
  agents.Send(*frame::EncodeProgram({.argv = {kLoopProbe, "2"}}));
  const auto give = [&](std::uint64_t number, const std::string& what) {
    const std::string json = "{\"item\":" + std::to_string(number) + ",\"do\":\"" + what + "\"}";
    agents.Send(*frame::EncodeItem(number, {.name = number, .tag = what, .json = json}));
  };
  give(1, "ok");
  agents.TakeEnd(1, false);
  give(2, "print here");
  give(3, "keep");
  give(4, "keep");
  agents.TakeEnd(2, false);
  agents.Cut();
  agents.Return();
  EXPECT_EQ(agents.haves, (Haves{{1, "ok"}, {2, "print here"}, {3, "keep"}, {4, "keep"}}));
  agents.TakeEnd(1);
  agents.TakeEnd(2);
}

TEST(Return, EndsStreamsAndSaysNothingOfThemToAnother) {
  Agents agents;
  agents.RunShell(1, "touch $0/on; while [ ! -e $0/go ]; do sleep 0.02; done; echo one");
  const std::string sleep = UniqueSleep();
  const std::string script = "trap '' HUP; yes; while :; do sleep 0.1; done; : " + sleep;
  const std::string ends = "touch " + agents.scratch() + "/ends; echo out; exit 3";
  for (const bool terminal : {false, true}) {
    const frame::Open open{.terminal = terminal,
                           .program = {.argv = {kBusybox, "sh", "-c", script}}};
    agents.Send(*frame::EncodeOpen(terminal ? 2 : 3, open));
  }
  agents.Send(*frame::EncodeOpen(4, {.program = {.argv = {kBusybox, "sh", "-c", ends}}}));
  Await(agents.scratch() + "/ends");
  agents.Cut();
  agents.Return();
  EXPECT_EQ(agents.haves, (Haves{{1, "tag 1"}}));
  // Numbers of before mean nothing to this one.
  agents.Send(*frame::EncodeOpen(2, {.program = {.argv = {kBusybox, "echo", "two"}}}));
  auto got = agents.Next();
  ASSERT_TRUE(got && got->kind == frame::Kind::kOutput);
  EXPECT_EQ(got->payload, "two\n");
  got = agents.Next();
  ASSERT_TRUE(got && got->kind == frame::Kind::kOver);
  EXPECT_EQ(got->number, 2U);
  EXPECT_TRUE(Becomes([&] { return Alive(sleep) == 0; }));
  std::ofstream(agents.scratch() + "/go") << "";
  agents.TakeEnd(1);
  EXPECT_EQ(agents.logs[1], "one\n");
}

TEST(Return, EndsAllWhenNoAgentComesInTime) {
  Agents agents("1");
  const std::string sleep = UniqueSleep();
  agents.RunShell(1, "touch $0/on; (setsid sleep " + sleep + " &); sleep " + sleep);
  Await(agents.scratch() + "/on");
  const std::int64_t begin_us = NowUs();
  agents.Cut();
  EXPECT_EQ(agents.AwaitExit(), 0);
  EXPECT_GE(NowUs() - begin_us, kSecond);
  EXPECT_EQ(Alive(sleep), 0);
}

TEST(Return, HasItsTimeAnewEachTimeThatAnAgentGoes) {
  Agents agents("4");
  agents.RunShell(1, "touch $0/on; sleep 1000");
  Await(agents.scratch() + "/on");
  for (int i = 0; i < 3; ++i) {
    agents.Cut();
    agents.Return();
    EXPECT_EQ(agents.haves, (Haves{{1, "tag 1"}}));
  }
  // So much later that an end by the first time would be seen.
  const std::int64_t returned_us = NowUs();
  Becomes([&] { return NowUs() >= returned_us + kSecond / 2; });
  const std::int64_t begin_us = NowUs();
  agents.Cut();
  EXPECT_EQ(agents.AwaitExit(), 0);
  EXPECT_GE(NowUs() - begin_us, 4 * kSecond);
}

TEST(Return, EndsWithQuit) {
  Agents agents;
  const std::string sleep = UniqueSleep();
  agents.RunShell(1, "touch $0/on; sleep " + sleep);
  Await(agents.scratch() + "/on");
  agents.Send(frame::EncodeQuit());
  EXPECT_EQ(agents.AwaitExit(), 0);
  EXPECT_EQ(Alive(sleep), 0);
}

}  // namespace
}  // namespace tidemill::init
