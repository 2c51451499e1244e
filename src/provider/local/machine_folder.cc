// SPDX-License-Identifier: Apache-2.0
#include "provider/local/machine_folder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/fd.h"
#include "base/remove_tree.h"

namespace tidemill {
namespace fs = std::filesystem;
namespace {

Result<void> Failed(const fs::path& path) {
  return Fail(Code::kUnavailable, path.string() + ": " + strerror(errno));
}

}  // namespace

std::string MicrosText(TimePoint time) { return std::to_string(time.time_since_epoch().count()); }

Result<void> WriteWhole(const fs::path& path, const std::string& text) {
  const fs::path fresh = path.string() + ".new";
  Fd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return Failed(fresh);
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Failed(fresh);
  }
  file.Reset();
  if (rename(fresh.c_str(), path.c_str()) != 0) return Failed(path);
  return {};
}

std::optional<TimePoint> MachineFolder::ReadTime(const char* name) const {
  std::ifstream file(path_ / name);
  std::int64_t us = 0;
  if (!(file >> us)) return std::nullopt;
  return TimePoint(Duration(us));
}

std::optional<MachineFolder::Record> MachineFolder::Read() const {
  std::ifstream file(made());
  std::int64_t since_us = 0;
  Record record;
  if (!(file >> since_us >> record.process.pid >> record.process.start)) return std::nullopt;
  file >> record.process.boot;
  record.since = TimePoint(Duration(since_us));
  record.ending = ReadTime("ending");
  record.ended = ReadTime("ended");
  std::error_code error;
  record.billed = fs::exists(path_ / "billed", error);
  return record;
}

Result<void> MachineFolder::Prepare(const std::string& join_token) const {
  std::error_code error;
  if (fs::exists(path_, error)) RemoveTree(path_.string());
  for (const fs::path& folder : {path_, state()}) {
    if (mkdir(folder.c_str(), 0700) != 0) return Failed(folder);
  }
  return WriteWhole(token(), join_token + "\n");
}

Result<void> MachineFolder::MarkEnding(TimePoint now) const {
  return WriteWhole(path_ / "ending", MicrosText(now) + "\n");
}

Result<void> MachineFolder::MarkEnded(TimePoint now) const {
  unlink(token().c_str());
  return WriteWhole(path_ / "ended", MicrosText(now) + "\n");
}

Result<void> MachineFolder::MarkBilled() const { return WriteWhole(path_ / "billed", ""); }

}  // namespace tidemill
