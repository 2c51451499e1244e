// SPDX-License-Identifier: Apache-2.0
#include "base/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/random.h"

namespace tidemill {
namespace {

constexpr int kFolder = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

// Its owner may have shut it. The mode is changed of what was opened, never by name: a name may
// have come to mean a link, and so a folder of somebody else.
void Unlock(int at, const char* name) {
  const Fd folder(openat(at, name, kFolder | O_PATH));
  if (!folder) return;
  chmod(("/proc/self/fd/" + std::to_string(folder.get())).c_str(), S_IRWXU);
}

Dir OpenDir(int at, const char* name) {
  int folder = openat(at, name, kFolder | O_RDONLY);
  if (folder < 0 && errno == EACCES) {
    Unlock(at, name);
    folder = openat(at, name, kFolder | O_RDONLY);
  }
  if (folder < 0) return nullptr;
  fchmod(folder, S_IRWXU);
  return Dir(fdopendir(folder));
}

std::vector<std::string> NamesIn(DIR* dir) {
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// Empties the folders of one tree, each after it has been moved to the top.
class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  bool Run(const std::vector<std::string>& names) {
    for (const std::string& name : names) Remove(top_, name);
    while (!folders_.empty()) {
      const std::string name = std::move(folders_.back());
      folders_.pop_back();
      if (const Dir folder = OpenDir(top_, name.c_str())) {
        for (const std::string& inner : NamesIn(folder.get())) Remove(dirfd(folder.get()), inner);
      }
      if (unlinkat(top_, name.c_str(), AT_REMOVEDIR) != 0) all_ = false;
    }
    return all_;
  }

 private:
  // A file goes at once; a folder that is not empty waits at the top.
  void Remove(int at, const std::string& name) {
    if (unlinkat(at, name.c_str(), 0) == 0) return;
    if (errno == EISDIR && unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0) return;
    if (errno != ENOTEMPTY && errno != EEXIST) {
      all_ = false;
      return;
    }
    if (at == top_) return folders_.push_back(name);
    Unlock(at, name.c_str());  // to move a folder is to write its ".."
    const std::string lifted = ".lifted-" + std::to_string(next_++);
    if (renameat(at, name.c_str(), top_, lifted.c_str()) == 0) {
      folders_.push_back(lifted);
    } else {
      all_ = false;
    }
  }

  const int top_;
  // Not to be guessed, so that no name is there already.
  std::uint64_t next_ = SystemRandom().Next() / 2;
  std::vector<std::string> folders_;  // at the top, not empty
  bool all_ = true;
};

}  // namespace

bool RemoveTree(const std::string& path) {
  if (const Dir top = OpenDir(AT_FDCWD, path.c_str())) {
    const std::vector<std::string> names = NamesIn(top.get());
    if (!Removal(dirfd(top.get())).Run(names)) return false;
  }
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

}  // namespace tidemill
