// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/power_off.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <utility>

#include "base/fd.h"
#include "net/child.h"

namespace tidemill {
namespace {

// To ask for it takes no longer; a command that hangs must not keep the machine.
constexpr std::chrono::seconds kCommandTime{60};

class CommandEnd : public MachineEnd {
 public:
  CommandEnd(AsioLoop& loop, std::string command) : loop_(loop), command_(std::move(command)) {}
  ~CommandEnd() override { loop_.Cancel(timer_); }
  CommandEnd(const CommandEnd&) = delete;
  CommandEnd& operator=(const CommandEnd&) = delete;

  void End(std::function<void(Result<void>)> done) override {
    done_ = std::move(done);
    auto child = Child::Start(
        loop_, {"/bin/sh", "-c", command_}, Fd(open("/dev/null", O_RDWR)), [this](int status) {
          const bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
          Over(is_good ? Result<void>() : Fail(Code::kUnavailable, DescribeExit(status)));
        });
    if (!child) {
      const Error error = child.error();
      timer_ = loop_.After({}, [this, error] { Over(tl::unexpected<Error>(error)); });
      return;
    }
    child_ = *std::move(child);
    timer_ =
        loop_.After(kCommandTime, [this] { Over(Fail(Code::kUnavailable, "it does not end")); });
  }

 private:
  void Over(const Result<void>& result) {
    loop_.Cancel(timer_);
    child_.reset();
    if (auto done = std::exchange(done_, {})) done(result);
  }

  AsioLoop& loop_;
  const std::string command_;
  std::unique_ptr<Child> child_;
  TimerId timer_ = TimerId::kNone;
  std::function<void(Result<void>)> done_;
};

}  // namespace

std::unique_ptr<MachineEnd> EndByCommand(AsioLoop& loop, std::string command) {
  return std::make_unique<CommandEnd>(loop, std::move(command));
}

}  // namespace tidemill
