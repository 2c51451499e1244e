// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of the local provider: real processes, real files, and a clock that can be moved.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/remove_tree.h"
#include "net/asio_loop.h"
#include "net/loop_testing.h"
#include "net/thread_pool.h"
#include "provider/local/local_provider.h"
#include "provider/local/machine_folder.h"
#include "provider/provider_contract.h"

namespace tidemill {

namespace fs = std::filesystem;

// Takes the flags of an agent, says them in its log, and goes when it is asked to.
inline constexpr char kGoodAgent[] =
    "#!/bin/sh\n"
    "trap 'echo term; exit 0' TERM\n"
    "echo begin \"$@\"\n"
    "while :; do sleep 0.05; done\n";
// Does not go. What it was sent before a SIGWINCH, it says before that.
inline constexpr char kStubbornAgent[] =
    "#!/bin/sh\n"
    "trap 'echo term' TERM\n"
    "trap 'echo winch' WINCH\n"
    "echo begin\n"
    "while :; do sleep 0.05; done\n";

inline std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class LocalWorld : public ProviderWorld {
 public:
  // Without a program, the script is the agent.
  explicit LocalWorld(const std::string& script, const std::string& program = "") {
    char name[] = "/tmp/tidemill_local_XXXXXX";
    root_ = mkdtemp(name);
    const fs::path path = root_ / "agent.sh";
    std::ofstream(path) << script;
    fs::permissions(path, fs::perms::owner_all);
    options.folder = root_ / "machines";
    options.agent_program = program.empty() ? path.string() : program;
    options.servers = {"http://127.0.0.1:1"};
    options.clock = [this] { return Now(); };
    Restart();
  }
  // No process stays.
  ~LocalWorld() override {
    provider_.reset();
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(root_, error)) {
      if (entry.path().filename() != "made") continue;
      if (const auto record = MachineFolder(entry.path().parent_path()).Read()) {
        KillGroup(record->process);
      }
    }
    RemoveTree(root_.string());
  }

  Provider& provider() override { return *provider_; }
  std::unique_ptr<LocalProvider> Another() {
    if (threads_ == nullptr) threads_ = std::make_unique<ThreadPool>(loop, 4);
    return std::make_unique<LocalProvider>(loop, *threads_, options);
  }
  // Until the next Restart: a child that is forked now does not wait for ever for what a thread
  // held that it does not have.
  void EndThreads() {
    provider_.reset();
    threads_.reset();
  }
  void Restart() override { provider_ = Another(); }

  void RunUntil(const std::function<bool()>& is_true) override { RunLoopUntil(loop, is_true); }
  // The clock jumps; what is real gets a moment.
  void Pass(Duration time) override {
    RunFor(std::chrono::milliseconds(20));
    ahead_ += time.count();
  }
  TimePoint Now() const override { return WallTime() + Duration(ahead_.load()); }
  void SetCapacity(PoolSettings& pool, std::int64_t machines) override {
    pool.machines.options = "{\"capacity\":" + std::to_string(machines) + "}";
  }
  void Kill(const PoolSettings& pool, const std::string& name) override {
    const auto record = FolderOf(pool, name).Read();
    ASSERT_TRUE(record);
    ASSERT_EQ(kill(record->process.pid, SIGKILL), 0);
  }

  MachineFolder FolderOf(const PoolSettings& pool, const std::string& name) const {
    return MachineFolder(options.folder / pool.pool.project / pool.pool.name / name);
  }
  void WaitForLog(const PoolSettings& pool, const std::string& name, const std::string& text) {
    const fs::path log = FolderOf(pool, name).log();
    RunUntil([&] { return ReadFile(log).find(text) != std::string::npos; });
  }
  std::vector<std::string> BillLines() const {
    std::ifstream file(options.folder / "bill");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  AsioLoop loop;
  LocalOptions options;

 private:
  void RunFor(Duration time) {
    const TimerId timer = loop.After(time, [this] { loop.Stop(); });
    loop.Run();
    loop.Cancel(timer);
  }

  fs::path root_;
  std::atomic<std::int64_t> ahead_ = 0;
  std::unique_ptr<ThreadPool> threads_;
  std::unique_ptr<LocalProvider> provider_;
};

}  // namespace tidemill
