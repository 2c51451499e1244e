// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/child.h"
#include "net/asio_loop.h"

namespace tidemill::cli {

// Programs that live and die together: started one after the other, ended in the opposite order.
// One thread. The programs do not outlive this object.
class Supervisor {
 public:
  // From now on Ctrl-C and SIGTERM ask for the end instead of killing us; a second one ends all at
  // once.
  explicit Supervisor(AsioLoop& loop);
  ~Supervisor();

  struct Program {
    std::string name;  // as people call it
    ChildPlan plan;
    int stop_signal = 15;
    std::chrono::seconds stop_time{15};  // then it is killed
  };
  Result<void> Start(Program program);

  // Asks until `ready` says so. kUnavailable: not in time. kLost: told to end, or a program has
  // ended; see asked_to_end() and FindEnded().
  Result<void> WaitUntil(const std::function<bool()>& ready, std::chrono::seconds at_most);
  // Returns when told to end, or when a program has ended.
  void WaitForEnd();

  // Runs a program to its end. kInternal: it failed; kUnavailable: not in time; kLost: told to end.
  Result<void> RunToEnd(const ChildPlan& plan, std::chrono::seconds at_most);

  bool asked_to_end() const { return signals_ > 0; }
  struct Ended {
    std::string name;
    std::string how;  // "exit 1"
    std::filesystem::path log;
    std::uint64_t log_from = 0;  // where its own lines begin
  };
  // The first program that has ended without being asked to.
  std::optional<Ended> FindEnded();
  // Where the lines of the program that was started last begin in its log.
  std::uint64_t log_from() const { return running_.back().log_from; }
  pid_t pid() const { return running_.back().child.pid(); }

  // The last one first, each in its time. True if none had to be killed.
  bool StopAll();

 private:
  struct Running {
    Program program;
    Child child;
    std::uint64_t log_from = 0;
  };
  void Pause(std::chrono::milliseconds time);
  bool Stop(Running& running);

  AsioLoop& loop_;
  std::vector<Running> running_;
  int signals_ = 0;
};

}  // namespace tidemill::cli
