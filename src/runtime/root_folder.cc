// SPDX-License-Identifier: Apache-2.0
#include "runtime/root_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace tidemill {
namespace {

// The kernel gives up when somebody renames what it walks through; nobody should.
constexpr int kTries = 16;
constexpr std::size_t kPathBytes = 4096;

tl::unexpected<Error> Trouble(std::string_view path, int error) {
  return Fail(error == ENOENT ? Code::kNotFound : Code::kUnavailable,
              std::string(path) + " in the container: " + std::strerror(error));
}

Fd OpenInRoot(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int i = 0; i < kTries; ++i) {
    const long fd = syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
    if (fd >= 0 || errno != EAGAIN) return Fd(static_cast<int>(fd));
  }
  return {};
}

// The names on a path. kInvalid: it is not whole, or goes up.
Result<std::vector<std::string>> NamesOf(std::string_view path) {
  const auto is_control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; };
  if (!path.starts_with('/') || path.size() > kPathBytes ||
      std::any_of(path.begin(), path.end(), is_control)) {
    return Fail(Code::kInvalid,
                "'" + std::string(path.substr(0, 200)) + "' is no whole path, such as /usr/lib/x");
  }
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    if (name == "..") return Fail(Code::kInvalid, "a path must not go up with '..'");
    if (!name.empty() && name != ".") names.emplace_back(name);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return names;
}

struct Place {
  Fd folder;
  std::string name;
};

Result<Place> PlaceOf(const RootFolder& root, std::string_view path) {
  TIDEMILL_TRY(const std::vector<std::string> names, NamesOf(path));
  if (names.empty()) return Fail(Code::kInvalid, "the root folder itself cannot be replaced");
  std::string folder = "/";
  for (std::size_t i = 0; i + 1 < names.size(); ++i) folder.append(names[i]).append("/");
  TIDEMILL_TRY(Fd fd, root.MakeFolder(folder));
  return Place{std::move(fd), names.back()};
}

bool WriteWhole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

Result<RootFolder> RootFolder::Open(const std::string& path) {
  Fd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Fail(Code::kNotFound, path + ": " + std::strerror(errno));
  return RootFolder(std::move(fd));
}

Result<Fd> RootFolder::MakeFolder(std::string_view path) const {
  TIDEMILL_TRY(const std::vector<std::string> names, NamesOf(path));
  std::string so_far = "/";
  Fd folder = OpenInRoot(fd_.get(), so_far);
  if (!folder) return Trouble(so_far, errno);
  for (const std::string& name : names) {
    so_far.append(name);
    Fd next = OpenInRoot(fd_.get(), so_far);
    if (!next && errno == ENOENT) {
      // One name below a folder that is inside.
      if (mkdirat(folder.get(), name.c_str(), 0755) != 0) return Trouble(so_far, errno);
      next = OpenInRoot(fd_.get(), so_far);
    }
    if (!next) return Trouble(so_far, errno);
    folder = std::move(next);
    so_far.append("/");
  }
  return folder;
}

Result<void> RootFolder::Write(std::string_view path, std::string_view content) const {
  TIDEMILL_TRY(const Place place, PlaceOf(*this, path));
  if (unlinkat(place.folder.get(), place.name.c_str(), 0) != 0 && errno != ENOENT) {
    return Trouble(path, errno);
  }
  const Fd file(openat(place.folder.get(), place.name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file || !WriteWhole(file.get(), content)) return Trouble(path, errno);
  return {};
}

Result<void> RootFolder::Link(std::string_view path, const std::string& target) const {
  TIDEMILL_TRY(const Place place, PlaceOf(*this, path));
  if (target.empty() || target.size() >= kPathBytes) {
    return Fail(Code::kInvalid, "a link must say where it leads");
  }
  std::array<char, kPathBytes> found{};
  const ssize_t size =
      readlinkat(place.folder.get(), place.name.c_str(), found.data(), found.size());
  if (size >= 0) {
    if (std::string_view(found.data(), static_cast<std::size_t>(size)) == target) return {};
    if (unlinkat(place.folder.get(), place.name.c_str(), 0) != 0) return Trouble(path, errno);
  } else if (errno == EINVAL) {
    return Fail(Code::kConflict, std::string(path) + " in the container is there, and is no link");
  }
  if (symlinkat(target.c_str(), place.folder.get(), place.name.c_str()) != 0) {
    return Trouble(path, errno);
  }
  return {};
}

Result<void> RootFolder::Run(const std::string& program,
                             const std::vector<std::string>& args) const {
  const Fd file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Fail(Code::kNotFound, program + ": " + std::strerror(errno));
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  char* const no_variables[] = {nullptr};
  constexpr int kNotStarted = 126;
  const pid_t child = fork();
  if (child < 0) return Fail(Code::kUnavailable, program + ": " + std::strerror(errno));
  if (child == 0) {
    // The descriptor leads to the program, which the new root does not have.
    const bool is_in = fchdir(fd_.get()) == 0 && chroot(".") == 0;
    if (is_in) syscall(SYS_execveat, file.get(), "", argv.data(), no_variables, AT_EMPTY_PATH);
    _exit(kNotStarted);
  }
  int status = 0;
  // Whoever runs the hook has a timeout for it.
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return Fail(Code::kUnavailable, program + ": " + std::strerror(errno));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Fail(Code::kUnavailable,
              program + " failed in the container's root folder with status " +
                  std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)));
}

}  // namespace tidemill
