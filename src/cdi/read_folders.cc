// SPDX-License-Identifier: Apache-2.0
#include "cdi/read_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "base/read_at.h"
#include "cdi/cdi_text.h"

namespace tidemill {
namespace {

// Vendors have one file each, or one for each device.
constexpr std::size_t kFilesPerFolder = 1000;

tl::unexpected<Error> Unreadable(int number) {
  return Fail(Code::kUnavailable, std::string("cannot be read: ") + std::strerror(number));
}

// Sorted. A folder that is not there is empty.
Result<std::vector<std::string>> SpecNames(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (!dir && errno == ENOENT) return names;
  if (!dir) return Unreadable(errno);
  for (errno = 0; const dirent* entry = readdir(dir.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (!name.ends_with(".json") && !name.ends_with(".yaml")) continue;
    if (names.size() == kFilesPerFolder) {
      return Fail(Code::kInvalid, "more than " + std::to_string(kFilesPerFolder) + " specs");
    }
    names.emplace_back(name);
  }
  if (errno != 0) return Unreadable(errno);
  std::sort(names.begin(), names.end());
  return names;
}

// Links are followed: vendors keep their specs elsewhere. What is behind one must be a plain file,
// and nobody waits for the other end of a FIFO to find out.
Result<std::string> ReadPlainFile(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return Unreadable(errno);
  struct stat found = {};
  if (fstat(fd.get(), &found) != 0) return Unreadable(errno);
  if (!S_ISREG(found.st_mode)) return Fail(Code::kInvalid, "is not a plain file");
  // One byte more than it has, to see whether it grows.
  std::string text(std::min(static_cast<std::size_t>(found.st_size), kCdiTextBytes) + 1, '\0');
  const std::int64_t size = ReadAt(fd.get(), text.data(), text.size(), 0);
  if (size < 0) return Unreadable(errno);
  text.resize(static_cast<std::size_t>(size));
  if (text.size() > kCdiTextBytes) {
    return Fail(Code::kInvalid, "more than " + std::to_string(kCdiTextBytes) + " bytes");
  }
  return text;
}

}  // namespace

Result<CdiSpec> ReadCdiFile(const std::string& path) {
  TIDEMILL_TRY(const std::string text, ReadPlainFile(path));
  return ParseCdiText(text, path.ends_with(".json"));
}

CdiRegistry ReadCdiFolders(const std::vector<std::string>& folders) {
  std::vector<CdiFile> files;
  int priority = 0;
  for (const std::string& folder : folders) {
    const auto names = SpecNames(folder);
    if (!names) files.push_back({folder, priority, tl::unexpected(names.error())});
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      const std::string path = folder + "/" + name;
      files.push_back({path, priority, ReadCdiFile(path)});
    }
    ++priority;
  }
  return CdiRegistry(std::move(files));
}

}  // namespace tidemill
