// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "net/asio_loop.h"

namespace tidemill {

// The descriptor that a child gets, besides standard input (nothing) and outputs (ours).
inline constexpr int kChildFd = 3;

// A program that runs as our child, in a process group of its own. Loop thread only.
class Child {
 public:
  // What waitpid says of it.
  using OnExit = std::function<void(int status)>;

  // It begins in `folder`; empty: in ours. kUnavailable: it cannot be started. `on_exit` comes
  // once, never from inside, and may destroy the child.
  static Result<std::unique_ptr<Child>> Start(AsioLoop& loop, std::vector<std::string> argv, Fd fd,
                                              OnExit on_exit, const std::string& folder = {});
  // One that has not ended is killed and waited for; `on_exit` does not come.
  ~Child();

  pid_t pid() const;
  // SIGKILL.
  void Kill();
  // Blocks; true if it has ended by then.
  bool WaitFor(Duration at_most);

 private:
  struct Impl;
  explicit Child(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl> impl_;
};

// "exit code 1", "signal 9 (Killed)".
std::string DescribeExit(int status);

}  // namespace tidemill
