// SPDX-License-Identifier: Apache-2.0
#include "init/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace tidemill::init {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// An item may have taken names of the kind that folders are moved to; no sane one has so many.
constexpr int kNamesToTry = 1'000;

bool IsDots(const char* name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

// Calls `visit(name)` for each entry until one is not 0, and returns that one. How many were met is
// added to `met`.
template <typename Visit>
int ForEach(int folder, std::int64_t& met, Visit visit) {
  alignas(dirent64) char buffer[8192];
  while (true) {
    const ssize_t size = getdents64(folder, buffer, sizeof(buffer));
    if (size < 0) return errno;
    if (size == 0) return 0;
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      if (IsDots(entry->d_name)) continue;
      ++met;
      if (const int error = visit(entry->d_name); error != 0) return error;
    }
  }
}

// A folder is emptied by moving the folders in it up to the root, so that none is ever deeper than
// one level: no recursion, no descriptor a level, no path that is too long.
class Emptying {
 public:
  explicit Emptying(int root) : root_(root) {
    // An item may have made folders of these names, and must not guess the next.
    if (getrandom(&next_, sizeof(next_), 0) < 0) next_ = 0;
  }

  int Run() {
    while (true) {
      std::int64_t met = 0;
      const int error = ForEach(root_, met, [this](const char* name) { return Remove(name); });
      if (error != 0 || met == 0) return error;
      if (lseek(root_, 0, SEEK_SET) < 0) return errno;
    }
  }

 private:
  // An entry of the root.
  int Remove(const char* name) {
    if (unlinkat(root_, name, 0) == 0) return 0;
    if (errno != EISDIR) return errno;
    if (unlinkat(root_, name, AT_REMOVEDIR) == 0) return 0;
    fchmodat(root_, name, S_IRWXU, 0);
    const int folder = openat(root_, name, kFolder);
    if (folder < 0) return errno;
    std::int64_t met = 0;
    const int error =
        ForEach(folder, met, [&](const char* inner) { return RemoveOrLift(folder, inner); });
    close(folder);
    if (error != 0) return error;
    // It may have entries that moved past the reading; the next look at the root meets it again.
    if (unlinkat(root_, name, AT_REMOVEDIR) != 0 && errno != ENOTEMPTY) return errno;
    return 0;
  }

  int RemoveOrLift(int folder, const char* name) {
    if (unlinkat(folder, name, 0) == 0) return 0;
    if (errno != EISDIR) return errno;
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0) return 0;
    fchmodat(folder, name, S_IRWXU, 0);  // to move a folder is to write its ".."
    for (int i = 0; i < kNamesToTry; ++i) {
      char lifted[32];
      snprintf(lifted, sizeof(lifted), ".lifted-%llx", static_cast<unsigned long long>(next_++));
      if (renameat(folder, name, root_, lifted) == 0) return 0;
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return errno;
    }
    return EEXIST;
  }

  const int root_;
  std::uint64_t next_ = 0;
};

}  // namespace

int Scratch::Open() {
  struct stat status{};
  const int root = open(path_, kFolder);
  if (root < 0) return errno;
  const int error = fstat(root, &status) == 0 ? 0 : errno;
  close(root);
  mode_ = status.st_mode & kModeBits;
  return error;
}

int Scratch::Empty() const {
  int root = open(path_, kFolder);
  // A link is ELOOP here, so what is changed is the folder itself.
  if (root < 0 && errno == EACCES && chmod(path_, mode_) == 0) root = open(path_, kFolder);
  if (root < 0) return errno;
  struct stat status{};
  int error = fstat(root, &status) == 0 ? 0 : errno;
  if (error == 0 && (status.st_mode & kModeBits) != mode_ && fchmod(root, mode_) != 0) {
    error = errno;
  }
  if (error == 0) error = Emptying(root).Run();
  close(root);
  return error;
}

}  // namespace tidemill::init
