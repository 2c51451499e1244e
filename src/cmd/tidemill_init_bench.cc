// SPDX-License-Identifier: Apache-2.0
// Measures what tidemill-init adds to the start and the end of a program: items a second through
// it, against a bare loop of pipe, vfork, execve, read and wait. Both by turns, on one core.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "frame/frame.h"

namespace tidemill {
namespace {

struct Flags {
  std::string init;
  std::vector<std::string> item = {"/bin/busybox", "true"};
  int items = 2000;
  int rounds = 7;
  int ahead = 16;
  int core = 0;
  int driver_core = -1;
  double ratio_least = 0;
  int bare_loops = 0;
  std::string loop_program;
  std::string batch = "64";
  double rate_least = 0;
};

[[noreturn]] void Give(const std::string& what) {
  std::fprintf(stderr, "tidemill-init-bench: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

void PinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) Give("cannot stay on the core");
}

void RunBare(const std::vector<char*>& argv) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) Give("pipe");
  const pid_t pid = vfork();
  if (pid == 0) {
    dup2(pipe[1], STDOUT_FILENO);
    dup2(pipe[1], STDERR_FILENO);
    execve(argv[0], argv.data(), environ);
    _exit(127);
  }
  if (pid < 0) Give("vfork");
  close(pipe[1]);
  char bytes[4096];
  while (read(pipe[0], bytes, sizeof(bytes)) > 0) {
  }
  close(pipe[0]);
  int status = 0;
  if (wait4(pid, &status, 0, nullptr) != pid || status != 0) Give("the item failed");
}

// The program, in a process of its own, and our end of its socket.
class Init {
 public:
  explicit Init(const Flags& flags) : flags_(flags) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) Give("socketpair");
    socket_ = ends[0];
    scratch_ = (std::filesystem::temp_directory_path() / "tidemill-init-bench-XXXXXX").string();
    if (mkdtemp(scratch_.data()) == nullptr) Give("mkdtemp");
    pid_ = fork();
    if (pid_ < 0) Give("fork");
    if (pid_ > 0) {
      close(ends[1]);
      return;
    }
    PinTo(flags.core);
    fcntl(ends[1], F_SETFD, 0);
    const std::string fd = std::to_string(ends[1]);
    execl(flags.init.c_str(), "tidemill-init", "--fd", fd.c_str(), "--scratch", scratch_.c_str(),
          nullptr);
    Give(flags.init);
  }
  ~Init() {
    close(socket_);
    waitpid(pid_, nullptr, 0);
    rmdir(scratch_.c_str());
  }

  Init(const Init&) = delete;
  Init& operator=(const Init&) = delete;

  // Of init and of the items that it has waited for, since it started.
  double CpuSeconds() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string skipped;
    for (int i = 3; i < 14; ++i) fields >> skipped;
    double ticks = 0;
    for (int i = 14; i <= 17; ++i) {
      double one = 0;
      fields >> one;
      ticks += one;
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  // Makes it a loop.
  void Load() {
    const std::vector<std::string_view> argv = {flags_.loop_program, flags_.batch};
    const std::string program = *frame::EncodeProgram({.argv = argv});
    if (send(socket_, program.data(), program.size(), MSG_NOSIGNAL) < 0) Give("send");
    is_loop_ = true;
  }

  void Run(int items) {
    sent_ = ended_ = 0;
    while (ended_ < items) {
      Send(std::min(items - sent_, flags_.ahead - (sent_ - ended_)));
      Receive();
    }
  }

 private:
  void Send(int count) {
    std::string bytes;
    const std::vector<std::string_view> argv(flags_.item.begin(), flags_.item.end());
    for (int i = 0; i < count; ++i) {
      ++number_;
      const std::string json = "{\"item\":" + std::to_string(number_) + "}";
      bytes += is_loop_ ? *frame::EncodeItem(number_, {.name = number_, .json = json})
                        : *frame::EncodeRun(number_, {.argv = argv});
    }
    sent_ += count;
    if (send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) Give("send");
  }

  void Receive() {
    char bytes[65536];
    const ssize_t size = recv(socket_, bytes, sizeof(bytes), 0);
    if (size <= 0) Give("init is gone");
    reader_.Feed({bytes, static_cast<std::size_t>(size)});
    std::string heard;
    while (const auto got = reader_.Next()) {
      if (got->kind != frame::Kind::kEnd) continue;
      const auto end = frame::DecodeEnd(got->payload);
      if (!end || end->exit + end->signal + end->error != 0) Give("the item failed");
      heard += frame::EncodeHeard(got->number);
      ++ended_;
    }
    if (send(socket_, heard.data(), heard.size(), MSG_NOSIGNAL) < 0) Give("send");
    if (reader_.broken()) Give("no frames");
  }

  const Flags& flags_;
  std::string scratch_;
  int socket_ = -1;
  pid_t pid_ = 0;
  std::uint64_t number_ = 0;
  bool is_loop_ = false;
  int sent_ = 0;
  int ended_ = 0;
  frame::Reader reader_{frame::Reader::Side::kAgent};
};

// Of this process and of the children that it has waited for.
double OwnCpuSeconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    }
  }
  return seconds;
}

template <typename Work>
double Seconds(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Measure(Flags& flags) {
  std::vector<char*> argv;
  for (std::string& text : flags.item) argv.push_back(text.data());
  argv.push_back(nullptr);
  Init init(flags);
  std::vector<double> bare_rates;
  std::vector<double> init_rates;
  std::vector<double> ratios;
  double bare_cpu = 0;
  const double init_cpu_before = init.CpuSeconds();
  for (int round = 0; round < flags.rounds; ++round) {
    PinTo(flags.core);
    bare_cpu -= OwnCpuSeconds();
    const double bare = flags.items / Seconds([&] {
                          for (int i = 0; i < flags.items; ++i) RunBare(argv);
                        });
    bare_cpu += OwnCpuSeconds();
    PinTo(flags.driver_core < 0 ? flags.core : flags.driver_core);
    const double through = flags.items / Seconds([&] { init.Run(flags.items); });
    bare_rates.push_back(bare);
    init_rates.push_back(through);
    ratios.push_back(through / bare);
  }
  std::printf("bare loop %.0f items/s, tidemill-init %.0f items/s, ratio %.3f (medians of %d)\n",
              Median(bare_rates), Median(init_rates), Median(ratios), flags.rounds);
  const double init_cpu = init.CpuSeconds() - init_cpu_before;
  const double us_an_item = 1e6 / flags.items / flags.rounds;
  // What a busy machine does not change much; the agent's side is not in it.
  std::printf("of cpu: bare loop %.1f us an item, tidemill-init %.1f us an item, ratio %.3f\n",
              bare_cpu * us_an_item, init_cpu * us_an_item, bare_cpu / init_cpu);
  return Median(ratios) >= flags.ratio_least ? 0 : 1;
}

// Items a second that init hands to a program of a loop and settles.
int MeasureLoop(Flags flags) {
  constexpr int kAhead = 1024;  // what init lets wait
  flags.ahead = kAhead;
  PinTo(flags.driver_core < 0 ? flags.core : flags.driver_core);
  Init init(flags);
  init.Load();
  init.Run(kAhead);  // it is started
  std::vector<double> rates;
  for (int round = 0; round < flags.rounds; ++round) {
    rates.push_back(flags.items / Seconds([&] { init.Run(flags.items); }));
  }
  const double cpu = init.CpuSeconds();
  const double items = static_cast<double>(flags.items) * flags.rounds + kAhead;
  std::printf("loop, batches of %s: %.0f items/s (median of %d); init %.2f us of cpu an item\n",
              flags.batch.c_str(), Median(rates), flags.rounds, 1e6 * cpu / items);
  return Median(rates) >= flags.rate_least ? 0 : 1;
}

// Bare loops side by side, each on a core of its own: what this machine can do at most.
int MeasureBare(Flags flags) {
  std::vector<char*> argv;
  for (std::string& text : flags.item) argv.push_back(text.data());
  argv.push_back(nullptr);
  const double seconds = Seconds([&] {
    for (int loop = 0; loop < flags.bare_loops; ++loop) {
      const pid_t pid = fork();
      if (pid < 0) Give("fork");
      if (pid > 0) continue;
      PinTo(loop);
      for (int i = 0; i < flags.items; ++i) RunBare(argv);
      _exit(0);
    }
    int status = 0;
    while (wait4(-1, &status, 0, nullptr) > 0) {
      if (status != 0) Give("a loop failed");
    }
  });
  std::printf("%.0f items/s in %d bare loops\n", flags.bare_loops * flags.items / seconds,
              flags.bare_loops);
  return 0;
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) {
  tidemill::Flags flags;
  CLI::App app{"Measures what tidemill-init adds to the start and the end of a program."};
  flags.init = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tidemill-init");
  app.add_option("--init", flags.init, "the tidemill-init to measure")->capture_default_str();
  app.add_option("--item", flags.item, "a static program that does nothing, and its arguments");
  app.add_option("--items", flags.items, "items a round")->capture_default_str();
  app.add_option("--rounds", flags.rounds, "rounds")->capture_default_str();
  app.add_option("--ahead", flags.ahead, "runs sent ahead")->capture_default_str();
  app.add_option("--core", flags.core, "where the items run")->capture_default_str();
  app.add_option("--driver-core", flags.driver_core, "where the agent's side runs: -1 the same")
      ->capture_default_str();
  app.add_option("--least", flags.ratio_least, "fail below this ratio")->capture_default_str();
  app.add_option("--bare-loops", flags.bare_loops,
                 "no init: so many bare loops at once, each on its core, --items each");
  app.add_option("--loop", flags.loop_program,
                 "a program of a loop, which takes the size of its batches as argument");
  app.add_option("--batch", flags.batch, "the size of its batches")->capture_default_str();
  app.add_option("--least-rate", flags.rate_least, "of a loop: fail below so many items a second");
  CLI11_PARSE(app, argc, argv);
  if (!flags.loop_program.empty()) return tidemill::MeasureLoop(flags);
  return flags.bare_loops > 0 ? tidemill::MeasureBare(flags) : tidemill::Measure(flags);
}
