// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/folders.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/remove_tree.h"
#include "engine/channel/tree_bytes.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

// Exactly that mode, whatever the umask is.
bool MakeFolder(const std::string& path, mode_t mode) {
  return mkdir(path.c_str(), 0700) == 0 && chmod(path.c_str(), mode) == 0;
}

// No descriptor: it is gone, or somebody holds it.
Fd Lock(const std::string& path) {
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder && flock(folder.get(), LOCK_EX | LOCK_NB) != 0) folder.Reset();
  return folder;
}

bool IsInMemory(const std::string& path) {
  struct statfs status{};
  return statfs(path.c_str(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}

// A name is random and this long, so nobody can have taken the place before.
std::string SharedMemoryOf(const std::string& name) { return "/dev/shm/tidemill-" + name; }

// Its secret files first: while its folder is there, somebody will look for both. A process of the
// container that is just dying may still make a file.
void RemoveFolder(const std::string& path) {
  constexpr int kTimes = 3;
  const std::string secrets = SharedMemoryOf(fs::path(path).filename().string());
  for (int i = 0; i < kTimes; ++i) {
    if (RemoveTree(secrets) && RemoveTree(path)) return;
  }
}

void RemoveUnheld(const std::string& root) {
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator each(root, error), end; !error && each != end;
       each.increment(error)) {
    paths.push_back(each->path().string());
  }
  for (const std::string& path : paths) {
    if (const Fd held = Lock(path)) RemoveFolder(path);
  }
}

}  // namespace

ContainerFolders::ContainerFolders(AsioLoop& loop, std::string root)
    : root_(std::move(root) + "/containers"), pool_(loop, 1), measuring_(loop, 1) {}

ContainerFolders::~ContainerFolders() = default;

std::string ContainerFolders::PathOf(const std::string& name) const { return root_ + "/" + name; }

Result<std::string> ContainerFolders::Make() {
  const std::string name = ToString(random_.NewId<Id<struct ContainerTag>>());
  const std::string path = PathOf(name);
  std::error_code error;
  fs::create_directories(root_, error);
  // The folder itself is shut to other users of the machine; containers see only those below it.
  if (!error && MakeFolder(path, 0700)) {
    Fd lock = Lock(path);
    if (lock && MakeFolder(path + "/run", 0755) && MakeFolder(path + "/scratch", 0777)) {
      locks_.emplace(name, std::move(lock));
      return name;
    }
  }
  const std::string why = error ? error.message() : strerror(errno);
  return Fail(Code::kUnavailable, "cannot make the folder '" + path + "': " + why);
}

bool ContainerFolders::Hold(const std::string& name) {
  Fd lock = Lock(PathOf(name));
  if (!lock) return false;
  return locks_.emplace(name, std::move(lock)).second;
}

Result<std::string> ContainerFolders::MakeSecrets(const std::string& name) const {
  // On a disk the files are still shut to others and removed after each item, but what a disk held
  // can outlive that.
  const std::string path =
      IsInMemory("/dev/shm") ? SharedMemoryOf(name) : PathOf(name) + "/secrets";
  if (MakeFolder(path, 0700)) return path;
  return Fail(Code::kUnavailable, "cannot make the folder '" + path + "': " + strerror(errno));
}

void ContainerFolders::Remove(const std::string& name, std::function<void()> done) {
  RunWork([path = PathOf(name)] { RemoveFolder(path); },
          [this, name, done = std::move(done)] {
            locks_.erase(name);
            done();
          });
}

void ContainerFolders::MeasureScratch(const std::string& name,
                                      std::function<void(std::int64_t)> done) {
  const auto bytes = std::make_shared<std::int64_t>(0);
  measuring_.Run([path = PathOf(name) + "/scratch", bytes] { *bytes = TreeBytes(path); },
                 [alive = std::weak_ptr<char>(alive_), bytes, done = std::move(done)] {
                   if (!alive.expired()) done(*bytes);
                 });
}

void ContainerFolders::RemoveStale(std::function<void()> done) {
  RunWork([root = root_] { RemoveUnheld(root); }, std::move(done));
}

void ContainerFolders::RunWork(std::function<void()> work, std::function<void()> done) {
  pool_.Run(std::move(work), [alive = std::weak_ptr<char>(alive_), done = std::move(done)] {
    if (!alive.expired()) done();
  });
}

}  // namespace tidemill
