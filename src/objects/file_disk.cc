// SPDX-License-Identifier: Apache-2.0
#include "objects/file_disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/read_at.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAttributePrefix = "user.tidemill.";
constexpr std::size_t kAttributeBytes = 4096;

tl::unexpected<Error> FailErrno(const std::string& doing) {
  const int number = errno;
  Code code = Code::kUnavailable;
  if (number == ENOENT) code = Code::kNotFound;
  if (number == EEXIST) code = Code::kConflict;
  if (number == EACCES || number == EPERM || number == EROFS) code = Code::kForbidden;
  if (number == ENOSPC || number == EDQUOT || number == EMFILE) code = Code::kExhausted;
  // A file and a folder cannot have the same name, as two keys may.
  if (number == ENOTDIR || number == EISDIR || number == ENAMETOOLONG) code = Code::kInvalid;
  return Fail(code, doing + ": " + std::strerror(number));
}

ObjectMarks MarksOf(int fd) {
  std::string names(kAttributeBytes, '\0');
  const ssize_t size = flistxattr(fd, names.data(), names.size());
  ObjectMarks marks;
  std::string_view rest(names.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (!name.starts_with(kAttributePrefix)) continue;
    std::string value(kAttributeBytes, '\0');
    const ssize_t got = fgetxattr(fd, name.c_str(), value.data(), value.size());
    if (got < 0) continue;
    value.resize(static_cast<std::size_t>(got));
    marks[name.substr(kAttributePrefix.size())] = std::move(value);
  }
  return marks;
}

struct Opened {
  Fd fd;
  ObjectInfo info;
};

Result<Opened> OpenFile(const std::string& path, const std::string& key) {
  // A pipe must not hold us.
  Opened opened{Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), {}};
  if (!opened.fd) {
    // "a/b" where "a" is a file: there is no such object.
    if (errno == ENOTDIR) errno = ENOENT;
    return FailErrno(key);
  }
  struct stat status{};
  if (fstat(opened.fd.get(), &status) != 0) return FailErrno(key);
  if (!S_ISREG(status.st_mode)) return Fail(Code::kNotFound, key + ": not a file");
  opened.info = {.key = key,
                 .size_bytes = status.st_size,
                 .tag = FileTagOf(status),
                 .marks = MarksOf(opened.fd.get())};
  return opened;
}

Result<void> SyncFolder(const fs::path& folder) {
  const Fd fd(open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!fd || fsync(fd.get()) != 0) return FailErrno(folder.string());
  return {};
}

}  // namespace

std::string FileTagOf(const struct stat& status) {
  return std::to_string(status.st_ino) + "-" + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec) + "-" + std::to_string(status.st_size);
}

Result<std::string> FilePathOf(const std::string& root, const std::string& key) {
  TIDEMILL_TRY_VOID(CheckKey(key));
  std::string_view rest = key;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "." || part == ".." || part.starts_with(kFilePartPrefix)) {
      return Fail(Code::kInvalid, "'" + key + "' cannot be the name of a file");
    }
    if (part.size() == rest.size()) return root + "/" + key;
    rest.remove_prefix(part.size() + 1);
  }
}

Result<ObjectInfo> HeadFile(const std::string& path, const std::string& key) {
  TIDEMILL_TRY(Opened opened, OpenFile(path, key));
  return std::move(opened.info);
}

Result<ObjectPart> ReadFilePart(const std::string& path, const std::string& key,
                                const Download::Ask& ask) {
  TIDEMILL_TRY(Opened opened, OpenFile(path, key));
  if (!ask.tag.empty() && opened.info.tag != ask.tag) {
    return Fail(Code::kConflict, key + ": it changed while it was read");
  }
  const std::int64_t left = opened.info.size_bytes - ask.offset;
  if (left <= 0 && ask.offset > 0) {
    return Fail(Code::kInvalid, key + ": the range begins behind the end");
  }
  ObjectPart part{std::string(static_cast<std::size_t>(std::min(left, ask.size)), '\0'),
                  std::move(opened.info)};
  const std::int64_t got =
      ReadAt(opened.fd.get(), part.bytes.data(), part.bytes.size(), ask.offset);
  if (got < 0) return FailErrno(key);
  if (got < std::ssize(part.bytes)) {
    return Fail(Code::kConflict, key + ": it changed while it was read");
  }
  return part;
}

Result<NewFile> BeginFile(const std::string& path, const ObjectMarks& marks) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    errno = error.value();
    return FailErrno(folder.string());
  }
  NewFile file{.path = path, .part = (folder / kFilePartPrefix).string() + "XXXXXX"};
  file.fd.Reset(mkostemp(file.part.data(), O_CLOEXEC));
  if (!file.fd) return FailErrno(path);
  fchmod(file.fd.get(), 0644);
  for (const auto& [name, value] : marks) {
    const std::string full = std::string(kAttributePrefix) + name;
    if (fsetxattr(file.fd.get(), full.c_str(), value.data(), value.size(), 0) != 0) {
      auto failed = FailErrno("this file system keeps no marks");
      DropFile(file);
      return failed;
    }
  }
  return file;
}

Result<void> AppendFile(const NewFile& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file.fd.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FailErrno(file.path);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> EndFile(const NewFile& file, const PutOptions& options) {
  if (fsync(file.fd.get()) != 0) return FailErrno(file.path);
  Fd lock;
  if (!options.if_tag.empty()) {
    // No other swap comes between the look and the rename.
    lock = Fd(open(fs::path(file.path).parent_path().c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (!lock || flock(lock.get(), LOCK_EX) != 0) return FailErrno(file.path);
    const auto there = OpenFile(file.path, file.path);
    if (!there || there->info.tag != options.if_tag) {
      return Fail(Code::kConflict, file.path + " has changed");
    }
  }
  if (options.if_absent) {
    if (link(file.part.c_str(), file.path.c_str()) != 0) return FailErrno(file.path);
    unlink(file.part.c_str());
  } else if (rename(file.part.c_str(), file.path.c_str()) != 0) {
    return FailErrno(file.path);
  }
  return SyncFolder(fs::path(file.path).parent_path());
}

void DropFile(const NewFile& file) { unlink(file.part.c_str()); }

Result<void> DeleteFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR || errno == EISDIR) {
    return {};
  }
  return FailErrno(path);
}

}  // namespace tidemill
