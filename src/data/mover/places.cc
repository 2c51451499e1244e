// SPDX-License-Identifier: Apache-2.0
#include "data/mover/places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/remove_tree.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

constexpr const char* kParts[] = {"in", "out", "done", "checkpoint", "restore"};
constexpr mode_t kReadByAll = 0755;
// The item may be any user of its container.
constexpr mode_t kWrittenByAll = 0777;

// With just this mode, whatever the process's mask. OK if it is there.
Result<void> MakeFolder(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return DiskError(path, errno);
  if (chmod(path.c_str(), mode) != 0) return DiskError(path, errno);
  return {};
}

std::optional<std::uint64_t> NumberOf(const fs::path& path) {
  const std::string name = path.filename().string();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// The folders whose name is a number; none if it cannot be read.
std::vector<std::uint64_t> NumbersIn(const std::string& folder) {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    if (const auto number = NumberOf(each->path())) numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

tl::unexpected<Error> DiskError(const std::string& path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  return Fail(is_full ? Code::kExhausted : Code::kUnavailable, path + ": " + std::strerror(error));
}

Result<std::string> FilePathBelow(const std::string& folder, const std::string& name) {
  std::string_view rest = name;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 255 ||
        part.find('\0') != part.npos) {
      return Fail(Code::kInvalid, "no file can have such a name");
    }
    if (slash == rest.npos) return folder + "/" + name;
    rest.remove_prefix(slash + 1);
  }
}

std::string DataPlaces::PathOf(const DataPlace& place, const char* what) const {
  return root_ + "/" + std::to_string(place.job.number) + "/" + what + "/" +
         std::to_string(place.number);
}

DataFolders DataPlaces::FoldersOf(JobId job) const {
  const std::string folder = root_ + "/" + std::to_string(job.number);
  return {folder + "/in", folder + "/out", folder + "/checkpoint"};
}

Result<DataFolders> DataPlaces::MakeJob(JobId job) const {
  const std::string folder = root_ + "/" + std::to_string(job.number);
  TIDEMILL_TRY_VOID(MakeFolder(root_, 0700));
  TIDEMILL_TRY_VOID(MakeFolder(folder, kReadByAll));
  for (const std::string each : kParts) {
    TIDEMILL_TRY_VOID(MakeFolder(folder + "/" + each, kReadByAll));
  }
  return FoldersOf(job);
}

Result<void> DataPlaces::Make(const DataPlace& place, const DataWork& work) const {
  TIDEMILL_TRY(const DataFolders folders, MakeJob(place.job));
  Remove(place);
  TIDEMILL_TRY_VOID(MakeFolder(PathOf(place, "in"), kReadByAll));
  TIDEMILL_TRY_VOID(MakeFolder(PathOf(place, "out"), kWrittenByAll));
  for (const DataInput& input : work.inputs) {
    if (input.name.empty()) continue;
    TIDEMILL_TRY_VOID(MakeFolder(PathOf(place, "in") + "/" + input.name, kReadByAll));
  }
  for (const DataOutput& output : work.outputs) {
    if (!output.name.empty()) {
      TIDEMILL_TRY_VOID(MakeFolder(PathOf(place, "out") + "/" + output.name, kWrittenByAll));
    }
    if (output.kind == DataOutput::Kind::kFile) continue;
    TIDEMILL_TRY_VOID(MakeFolder(tidemill::PathOf(folders, place, output), kWrittenByAll));
  }
  return {};
}

Result<std::string> DataPlaces::TakeOutputs(const DataPlace& place) const {
  const std::string out = PathOf(place, "out");
  const std::string done = PathOf(place, "done");
  // What is moved may by now be a link, or nothing at all: whoever opens it looks.
  if (rename(out.c_str(), done.c_str()) == 0) return done;
  struct stat status{};
  if (errno == ENOENT && lstat(done.c_str(), &status) == 0) return done;
  return Fail(Code::kInvalid, "the folder of its outputs is gone");
}

Result<std::string> DataPlaces::MakeRestore(const DataPlace& place) const {
  const std::string path = PathOf(place, "restore");
  RemoveTree(path);
  TIDEMILL_TRY_VOID(MakeFolder(path, kWrittenByAll));
  return path;
}

// Owners are not kept: the item may be any user.
Result<void> DataPlaces::ShowRestored(const DataPlace& place) const {
  constexpr fs::perms kFile = static_cast<fs::perms>(0666);
  constexpr fs::perms kFolder = static_cast<fs::perms>(kWrittenByAll);
  const std::string from = PathOf(place, "restore");
  std::error_code error;
  for (fs::recursive_directory_iterator walk(from, error), end; !error && walk != end;
       walk.increment(error)) {
    fs::permissions(walk->path(), walk->is_directory() ? kFolder : kFile, error);
  }
  if (error) return DiskError(from, error.value());
  const std::string to = CheckpointOf(place);
  if (rename(from.c_str(), to.c_str()) != 0) return DiskError(to, errno);
  return {};
}

void DataPlaces::Remove(const DataPlace& place) const {
  for (const char* each : kParts) {
    const std::string path = PathOf(place, each);
    struct stat status{};
    if (lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) {
      RemoveTree(path);
    } else {
      unlink(path.c_str());
    }
  }
}

void DataPlaces::KeepOnly(const ItemData::Left& left) const {
  for (const std::uint64_t job : NumbersIn(root_)) {
    const JobId id{static_cast<std::int64_t>(job)};
    const std::string folder = root_ + "/" + std::to_string(job);
    for (const std::string each : kParts) {
      for (const std::uint64_t number : NumbersIn(folder + "/" + each)) {
        const DataPlace place{id, number};
        if (number < left.below && !left.places.contains(place)) Remove(place);
      }
    }
    // A container may have mounted them, even if they are empty just now.
    if (left.jobs.contains(id)) continue;
    for (const std::string each : kParts) rmdir((folder + "/" + each).c_str());
    rmdir(folder.c_str());
  }
}

}  // namespace tidemill
