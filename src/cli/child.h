// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemill::cli {

// As whom a program runs.
struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct ChildPlan {
  std::vector<std::string> command = {};  // the first is the program's path
  std::filesystem::path log = {};         // standard output and error are appended to it
  int input = -1;                         // its standard input; -1: it reads nothing
  int output = -1;                        // its standard output; -1: the log
  int signal_if_we_die = 15;  // the kernel sends it when this process dies, however it does
  std::optional<Account> account = {};  // none: as we run
  std::filesystem::path folder = "/";   // in which it runs: one that the account may enter
};

// A program in a process group of its own, so that Ctrl-C in our terminal does not reach it. Ends
// it when destroyed. One thread, which must live as long as the process: the kernel's signal comes
// when the thread that started the child dies.
class Child {
 public:
  // kInternal: the log cannot be opened, or the program cannot be started.
  static Result<Child> Start(const ChildPlan& plan);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  // How it ended ("exit 1", "signal 9"), or nothing while it runs. Does not wait.
  std::optional<std::string> Ended();
  bool EndedWell() const { return status_ == 0; }
  // To the program alone, which knows best what to do about its own children.
  void Signal(int number);
  // The whole group, at once.
  void Kill();

 private:
  explicit Child(pid_t pid) : pid_(pid) {}

  pid_t pid_;  // 0: moved from
  std::optional<int> status_;
};

// Where a program is: among `folders`, in their order, then in those of `path` (as in $PATH).
std::optional<std::filesystem::path> FindProgram(const std::string& name,
                                                 const std::vector<std::filesystem::path>& folders,
                                                 const std::string& path);

// The user of that name.
std::optional<Account> FindAccount(const std::string& name);

// The last lines of a file from `from` on, without a newline at the end; at most `lines` of them.
std::string LastLines(const std::filesystem::path& path, std::uint64_t from, int lines);

}  // namespace tidemill::cli
