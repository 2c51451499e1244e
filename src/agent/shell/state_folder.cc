// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "model/token.h"

namespace tidemill {
namespace {

using InstanceId = Id<struct InstanceTag>;

tl::unexpected<Error> SystemError(const std::string& doing) {
  return Fail(Code::kInvalid, "cannot " + doing + ": " + std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<StateFolder>> StateFolder::Open(const std::string& path, Random& random) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Fail(Code::kInvalid, "cannot make " + path + ": " + error.message());
  // Whatever the umask: tokens and the logs of items are in it.
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  if (error) return Fail(Code::kInvalid, "cannot shut " + path + ": " + error.message());
  const int lock = open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return SystemError("open " + path + "/lock");
  std::unique_ptr<StateFolder> folder(
      new StateFolder(std::filesystem::absolute(path).lexically_normal().string(), lock));
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return Fail(Code::kConflict, "another agent uses " + path + "; give each its own --state");
  }
  TIDEMILL_TRY_VOID(folder->Read());
  if (folder->id_.empty()) folder->id_ = ToString(random.NewId<InstanceId>());
  if (folder->machine_key_.empty()) folder->machine_key_ = MakeToken(kMachineKeyPrefix, random);
  ++folder->run_;
  TIDEMILL_TRY_VOID(folder->Write());
  return folder;
}

StateFolder::~StateFolder() { close(lock_); }

// Lines of a name and a value. What is not there is as at the first start.
Result<void> StateFolder::Read() {
  std::ifstream file(path_ + "/agent");
  std::string name;
  std::string value;
  while (file >> name >> value) {
    if (name == "id") id_ = value;
    if (name == "key") machine_key_ = value;
    if (name == "session") pass_.session = ParseId<SessionId>(value).value_or(SessionId{});
    if (name == "token") pass_.token = value;
    if (name == "run") run_ = static_cast<std::int32_t>(std::strtol(value.c_str(), nullptr, 10));
  }
  return {};
}

// Under another name first, so that a crash leaves the old file or the new one, never a part.
Result<void> StateFolder::Write() const {
  std::string text = "id " + id_ + "\nkey " + machine_key_ + "\nsession " +
                     ToString(pass_.session) + "\nrun " + std::to_string(run_) + "\n";
  if (!pass_.token.empty()) text += "token " + pass_.token + "\n";
  const std::string next = path_ + "/agent.next";
  const int file = open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return SystemError("write " + next);
  const bool written = write(file, text.data(), text.size()) == std::ssize(text);
  const bool synced = written && fsync(file) == 0;
  close(file);
  if (!synced || rename(next.c_str(), (path_ + "/agent").c_str()) != 0) {
    return SystemError("write " + path_ + "/agent");
  }
  return {};
}

// A session that could not be kept is lost with the next restart: its leases are then given up as
// those of a lost machine, which costs time and nothing else.
void StateFolder::Keep(const SessionPass& pass) {
  pass_ = pass;
  (void)Write();
}

}  // namespace tidemill
