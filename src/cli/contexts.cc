// SPDX-License-Identifier: Apache-2.0
#include "cli/contexts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/fd.h"
#include "base/wipe.h"
#include "net/http.h"
#include "wire/nearest.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

// Room for as many contexts as there may be, with a usual CA each.
constexpr std::size_t kContextsFileBytes = 4 << 20;

tl::unexpected<Error> ContextsError(const std::string& doing) {
  return Fail(Code::kInternal, doing + ": " + std::strerror(errno));
}

Result<fs::path> PathOf(const Surroundings& around) {
  const auto path = ContextsPath(around);
  if (!path) return Fail(Code::kInvalid, "where to keep contexts?  Set HOME");
  return *path;
}

Result<void> CheckMode(const fs::path& path, int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return ContextsError("look at " + path.string());
  if (!S_ISREG(info.st_mode)) return Fail(Code::kInvalid, path.string() + " is not a file");
  if (info.st_uid != ::geteuid()) {
    return Fail(Code::kForbidden, path.string() + " belongs to somebody else");
  }
  if ((info.st_mode & 077) == 0) return {};
  return Fail(Code::kForbidden, "others can read " + path.string() +
                                    ", which holds tokens.\nShut it:  chmod 600 " + path.string() +
                                    "\nIf somebody may have read it, revoke its tokens:  tidemill "
                                    "token revoke ID");
}

Result<std::string> ReadAll(const fs::path& path, int fd) {
  std::string text;
  std::vector<char> piece(64 << 10);
  while (true) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ContextsError("read " + path.string());
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > kContextsFileBytes)
      return Fail(Code::kInvalid, path.string() + " is too long");
  }
}

Result<ContextsFile> ReadFileAt(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return ContextsFile{};
  if (!fd) return ContextsError("open " + path.string());
  TIDEMILL_TRY_VOID(CheckMode(path, fd.get()));
  TIDEMILL_TRY(std::string text, ReadAll(path, fd.get()));
  auto file = ParseContexts(text);
  Wipe(text);
  if (file) return file;
  return Fail(Code::kInvalid, path.string() + " is broken (" + file.error().reason +
                                  ").\nMend it, or remove it and sign in again:  tidemill login "
                                  "URL");
}

bool WriteAll(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = ::write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return ::fsync(fd) == 0;
}

// Also when the machine stops in between. The lock keeps others from the fresh file.
Result<void> WriteAt(const fs::path& path, const std::string& text) {
  const fs::path fresh = path.string() + ".new";
  ::unlink(fresh.c_str());  // its mode would stay
  Fd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return ContextsError("make " + fresh.string());
  if (!WriteAll(fd.get(), text) || ::close(fd.Release()) != 0) {
    const auto error = ContextsError("write " + fresh.string());
    ::unlink(fresh.c_str());
    return error;
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return ContextsError("write " + path.string());
  return {};
}

// Held until it is closed.
Result<Fd> LockFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return ContextsError("make " + folder.string());
  }
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ContextsError("open " + folder.string());
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return ContextsError("look at " + folder.string());
  if ((info.st_mode & 077) != 0 && ::fchmod(fd.get(), 0700) != 0) {
    return ContextsError("shut " + folder.string());
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Fail(Code::kConflict,
                "another tidemill is changing " + folder.string() + " just now; try again");
  }
  return fd;
}

}  // namespace

std::optional<fs::path> ContextsPath(const Surroundings& around) {
  if (const auto config = around.Env("XDG_CONFIG_HOME")) {
    return fs::path(*config) / "tidemill/contexts.json";
  }
  if (const auto home = around.Env("HOME")) {
    return fs::path(*home) / ".config/tidemill/contexts.json";
  }
  return std::nullopt;
}

Result<ContextsFile> ReadContexts(const Surroundings& around) {
  const auto path = ContextsPath(around);
  return path ? ReadFileAt(*path) : ContextsFile{};
}

Result<void> ChangeContexts(const Surroundings& around,
                            const std::function<Result<void>(ContextsFile&)>& change) {
  TIDEMILL_TRY(const fs::path path, PathOf(around));
  TIDEMILL_TRY(const Fd lock, LockFolder(path.parent_path()));
  TIDEMILL_TRY(ContextsFile file, ReadFileAt(path));
  TIDEMILL_TRY_VOID(change(file));
  if (file.contexts.size() > kMostContexts) {
    return Fail(Code::kInvalid, "there are " + std::to_string(kMostContexts) +
                                    " contexts already; forget some:  tidemill logout NAME");
  }
  std::string text = FormatContexts(file);
  auto written = WriteAt(path, text);
  Wipe(text);
  return written;
}

bool IsSameServer(const std::string& url, const std::string& other) {
  const auto one = ParseUrl(url);
  const auto two = ParseUrl(other);
  return one && two && one->host == two->host && one->port == two->port && one->tls == two->tls;
}

Result<const SavedContext*> FindByServer(const ContextsFile& file, const std::string& url) {
  const SavedContext* found = nullptr;
  std::string names;
  for (const SavedContext& context : file.contexts) {
    if (!IsSameServer(context.server, url)) continue;
    if (context.name == file.current) return &context;
    found = &context;
    names.append(names.empty() ? "" : ", ").append(context.name);
  }
  if (names.find(", ") == std::string::npos) return found;
  return Fail(Code::kInvalid,
              "several contexts are of " + url + ": " + names + "; say which:  --context NAME");
}

tl::unexpected<Error> NoSuchContext(const ContextsFile& file, const std::string& name) {
  if (file.contexts.empty()) {
    return Fail(Code::kNotFound,
                "no context '" + name + "'; there is none yet:  tidemill login URL");
  }
  std::vector<std::string_view> names;
  for (const SavedContext& context : file.contexts) names.emplace_back(context.name);
  return Fail(Code::kNotFound, "no context '" + name + "'; " + HintFor(name, names));
}

}  // namespace tidemill::cli
