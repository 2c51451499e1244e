// SPDX-License-Identifier: Apache-2.0
#include "runtime/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/fd.h"

namespace tidemill {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

tl::unexpected<Error> Trouble(const std::string& path, int error) {
  return Fail(error == ENOENT ? Code::kNotFound : Code::kUnavailable,
              path + ": " + std::strerror(error));
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// Puts `fresh` where `target` is. A rename over a file lets some file systems write its data out at
// once, which takes milliseconds; an exchange does not.
bool MoveOver(const std::string& fresh, const std::string& target, bool is_there,
              Outlives outlives) {
  if (is_there && outlives == Outlives::kProcess &&
      renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    return unlink(fresh.c_str()) == 0;
  }
  return rename(fresh.c_str(), target.c_str()) == 0;
}

}  // namespace

Result<std::string> ReadWholeFd(int fd, std::size_t most, const std::string& name) {
  std::string text;
  std::array<char, kReadBytes> part{};
  for (;;) {
    const ssize_t got = read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Trouble(name, errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > most) {
      return Fail(Code::kExhausted, name + " is longer than " + std::to_string(most) + " bytes");
    }
  }
}

Result<std::string> ReadWhole(const std::string& path, std::size_t most) {
  // A pipe of that name must not hold us.
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return Trouble(path, errno);
  return ReadWholeFd(fd.get(), most, path);
}

Result<void> ReplaceWhole(const std::string& path, const std::string& content, Outlives outlives) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  const std::string target = error ? path : real.string();
  struct stat old{};
  const bool is_there = stat(target.c_str(), &old) == 0;
  std::string fresh = target + ".XXXXXX";
  const Fd fd(mkostemp(fresh.data(), O_CLOEXEC));
  if (!fd) return Trouble(target, errno);
  const mode_t mode = is_there ? old.st_mode & 07777 : 0644;
  const bool same_owner = !is_there || (old.st_uid == geteuid() && old.st_gid == getegid());
  const bool whole = WriteAll(fd.get(), content) &&
                     (same_owner || fchown(fd.get(), old.st_uid, old.st_gid) == 0) &&
                     fchmod(fd.get(), mode) == 0 &&
                     (outlives == Outlives::kProcess || fsync(fd.get()) == 0) &&
                     MoveOver(fresh, target, is_there, outlives);
  if (whole) return {};
  const int why = errno;
  unlink(fresh.c_str());
  return Trouble(target, why);
}

void AppendToFile(const std::string& path, const std::string& text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (fd) (void)WriteAll(fd.get(), text);
}

}  // namespace tidemill
