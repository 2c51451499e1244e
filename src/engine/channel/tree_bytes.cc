// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/tree_bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

namespace tidemill {
namespace {

constexpr int kEntriesMost = 1'000'000;
constexpr std::size_t kDepthMost = 64;
constexpr std::int64_t kBlockBytes = 512;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

Folder OpenFolder(int at, const char* name) {
  const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return nullptr;
  DIR* const folder = fdopendir(fd);
  if (folder == nullptr) close(fd);
  return Folder(folder);
}

bool IsDots(const char* name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

}  // namespace

std::int64_t TreeBytes(const std::string& path) {
  std::int64_t bytes = 0;
  std::vector<Folder> folders;
  folders.push_back(OpenFolder(AT_FDCWD, path.c_str()));
  if (!folders.back()) return 0;
  int entries = 0;
  while (!folders.empty() && entries < kEntriesMost) {
    const dirent* const entry = readdir(folders.back().get());
    if (entry == nullptr) {
      folders.pop_back();
      continue;
    }
    if (IsDots(entry->d_name)) continue;
    ++entries;
    const int at = dirfd(folders.back().get());
    struct stat status{};
    if (fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    bytes += std::int64_t{status.st_blocks} * kBlockBytes;
    if (!S_ISDIR(status.st_mode) || folders.size() >= kDepthMost) continue;
    if (Folder inner = OpenFolder(at, entry->d_name)) folders.push_back(std::move(inner));
  }
  return bytes;
}

}  // namespace tidemill
