// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/device_check.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>

#include "agent/device_variables.h"
#include "base/fd.h"

namespace tidemill {
namespace {

std::string TroubleOfNode(const std::string& path, bool must_be_device) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? "there is no " + path : path + ": " + strerror(errno);
  }
  const bool is_device =
      S_ISCHR(found.st_mode) || S_ISBLK(found.st_mode) || S_ISFIFO(found.st_mode);
  if (!is_device) return must_be_device ? path + " is no device" : "";
  const Fd opened(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (opened || errno == EBUSY || errno == EACCES || errno == EPERM) return "";
  return "cannot open " + path + ": " + strerror(errno);
}

// The shell's word for whatever it is.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string NodeTrouble(const MachineDevice& device) {
  if (!device.of_spec()) return TroubleOfNode(device.path, false);
  for (const std::string& node : device.nodes) {
    if (std::string trouble = TroubleOfNode(node, true); !trouble.empty()) return trouble;
  }
  return "";
}

RealDeviceCheck::RealDeviceCheck(AsioLoop& loop, DeviceCheckOptions options)
    : loop_(loop), options_(std::move(options)), nodes_(std::make_unique<ThreadPool>(loop, 1)) {}

RealDeviceCheck::~RealDeviceCheck() {
  loop_.Cancel(timer_);
  // To wait for a thread that hangs in the kernel would be for ever.
  if (hangs_ && !child_) static_cast<void>(nodes_.release());
}

void RealDeviceCheck::Look(const std::vector<MachineDevice>& devices,
                           std::function<void(std::vector<std::string>)> done) {
  devices_ = devices;
  troubles_.resize(devices.size());
  done_ = std::move(done);
  at_ = hangs_ ? devices.size() : 0;
  if (at_ < devices.size()) return LookAtNodes();
  timer_ = loop_.After(Duration::zero(), [this] { Over(); });
}

void RealDeviceCheck::LookAtNodes() {
  const auto trouble = std::make_shared<std::string>();
  timer_ = loop_.After(options_.limit, [this] { Hangs("to open it"); });
  nodes_->Run([device = devices_[at_], trouble] { *trouble = NodeTrouble(device); },
              [this, trouble] {
                if (std::exchange(hangs_, false)) return;
                loop_.Cancel(timer_);
                OnNodes(*trouble);
              });
}

void RealDeviceCheck::OnNodes(const std::string& trouble) {
  const std::string command = CommandFor(devices_[at_]);
  if (!trouble.empty() || command.empty()) return Next(trouble);
  RunCommand(command);
}

std::string RealDeviceCheck::CommandFor(const MachineDevice& device) const {
  if (!options_.command.empty()) return options_.command + " " + Quoted(device.path);
  const std::string id = VendorIdOf(device);
  if (options_.nvidia_command.empty() || device.kind != "nvidia.com/gpu" || id.empty()) return "";
  return options_.nvidia_command + " " + Quoted(id);
}

// What it prints to its errors is in our own log; a table of what is well need not be.
void RealDeviceCheck::RunCommand(const std::string& command) {
  timer_ = loop_.After(options_.limit, [this] {
    kill(-child_->pid(), SIGKILL);  // the shell, and what it has started
    Hangs("its check");
  });
  auto child = Child::Start(loop_, {"/bin/sh", "-c", "{ " + command + "\n} >/dev/null"},
                            Fd(open("/dev/null", O_RDWR | O_CLOEXEC)),
                            [this](int status) { OnExit(status); });
  if (child) {
    child_ = *std::move(child);
    return;
  }
  loop_.Cancel(timer_);
  Next("its check cannot be run: " + child.error().reason);
}

void RealDeviceCheck::OnExit(int status) {
  child_.reset();
  if (std::exchange(hangs_, false)) return;
  loop_.Cancel(timer_);
  const bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  Next(is_good ? "" : "its check ends with " + DescribeExit(status));
}

void RealDeviceCheck::Hangs(const std::string& what) {
  hangs_ = true;
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(options_.limit).count();
  troubles_[at_] = what + " takes longer than " + std::to_string(limit) + " s";
  Over();
}

void RealDeviceCheck::Next(std::string trouble) {
  troubles_[at_] = std::move(trouble);
  if (++at_ == devices_.size()) return Over();
  LookAtNodes();
}

void RealDeviceCheck::Over() {
  timer_ = TimerId::kNone;
  if (auto done = std::exchange(done_, {})) done(troubles_);
}

}  // namespace tidemill
