// SPDX-License-Identifier: Apache-2.0
#include "data/mover/output_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "objects/object_store.h"

namespace tidemill {
namespace {

// A FIFO must not hold us up before we have seen that it is one.
constexpr int kToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// No link is followed, of whatever kind, and nothing leads out.
Fd OpenBeneath(int folder, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(O_CLOEXEC | O_NOFOLLOW | flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return Fd(static_cast<int>(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how))));
}

tl::unexpected<Error> Wrong(const std::string& path, const std::string& why) {
  return Fail(Code::kInvalid, "its output '" + path.substr(0, 200) + "' " + why);
}

// Only where a program still writes.
tl::unexpected<Error> Vanished(const std::string& path) {
  return Fail(Code::kConflict, "'" + path.substr(0, 200) + "' vanished while it was looked at");
}

std::string KindOf(const struct stat& status) {
  if (S_ISLNK(status.st_mode)) return "is a symbolic link";
  if (S_ISFIFO(status.st_mode)) return "is a FIFO";
  if (S_ISSOCK(status.st_mode)) return "is a socket";
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) return "is a device";
  if (S_ISDIR(status.st_mode)) return "is a folder";
  return "is no plain file";
}

// Its size, if it is a plain file that has no other name: another name may be one that a container
// still sees.
Result<std::int64_t> SizeOf(const struct stat& status, const std::string& path) {
  if (!S_ISREG(status.st_mode)) return Wrong(path, KindOf(status));
  if (status.st_nlink > 1) return Wrong(path, "is a hard link: copy it instead");
  return status.st_size;
}

class Walk {
 public:
  Walk(int folder, const DataOutput& output) : folder_(folder), output_(output) {}

  Result<std::vector<OutputFile>> Run(const std::string& top) {
    TIDEMILL_TRY_VOID(Enter(top, "", 0));
    std::sort(files_.begin(), files_.end(),
              [](const OutputFile& a, const OutputFile& b) { return a.name < b.name; });
    return std::move(files_);
  }

 private:
  Result<void> Enter(const std::string& path, const std::string& name, int depth) {
    if (depth > kOutputDepthMost) return Wrong(path, "is too deep");
    Fd fd = OpenBeneath(folder_, path, kToRead | O_DIRECTORY);
    if (!fd && errno == ENOENT) return Vanished(path);
    if (!fd) return Wrong(path, "cannot be read: " + std::string(std::strerror(errno)));
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(fd.get()), &closedir);
    if (!listing) return Wrong(path, "cannot be read");
    const int own = fd.Release();  // the listing's from here on
    errno = 0;
    while (const dirent* entry = readdir(listing.get())) {
      const std::string one = entry->d_name;
      if (one == "." || one == "..") continue;
      TIDEMILL_TRY_VOID(
          Look(own, path + "/" + one, name.empty() ? one : name + "/" + one, one, depth));
      errno = 0;
    }
    if (errno != 0) return Wrong(path, "cannot be read: " + std::string(std::strerror(errno)));
    return {};
  }

  Result<void> Look(int folder, const std::string& path, const std::string& name,
                    const std::string& last, int depth) {
    struct stat status{};
    if (fstatat(folder, last.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Vanished(path) : Wrong(path, std::strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) return Enter(path, name, depth + 1);
    const bool wanted = output_.kind != DataOutput::Kind::kGlob || MatchesGlob(output_.glob, last);
    if (!wanted) return {};
    TIDEMILL_TRY(const std::int64_t size, SizeOf(status, path));
    if (!CheckKey(name)) return Wrong(path, "has a name that no object can have");
    if (files_.size() >= kOutputFilesMost) {
      return Wrong(path, "is one of more than " + std::to_string(kOutputFilesMost) + " files");
    }
    files_.push_back({path, name, size});
    return {};
  }

  const int folder_;
  const DataOutput& output_;
  std::vector<OutputFile> files_;
};

// Below the folder of an attempt.
std::string PathBelow(const DataOutput& output) {
  return PathOf(DataFolders{"", ""}, DataPlace{}, output).substr(std::strlen("/0/"));
}

}  // namespace

Result<std::vector<OutputFile>> FindOutput(const std::string& folder, const DataOutput& output) {
  const Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return Fail(Code::kInvalid, "the folder of its outputs is gone");
  const std::string path = PathBelow(output);
  if (output.kind != DataOutput::Kind::kFile) {
    TIDEMILL_TRY(std::vector<OutputFile> files, Walk(fd.get(), output).Run(path));
    if (files.empty()) {
      const bool is_glob = output.kind == DataOutput::Kind::kGlob;
      return Wrong(path, is_glob ? "has nothing that matches " + output.glob : "is empty");
    }
    return files;
  }
  const Fd file = OpenBeneath(fd.get(), path, O_PATH);
  if (!file && errno == ENOENT) return Wrong(path, "is missing");
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) {
    return Wrong(path, "is behind a link, or cannot be reached");
  }
  TIDEMILL_TRY(const std::int64_t size, SizeOf(status, path));
  return std::vector<OutputFile>{{path, "", size}};
}

Result<std::vector<OutputFile>> FindFiles(const std::string& folder) {
  const Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return Fail(Code::kInvalid, "its folder is gone");
  const DataOutput all{.name = {}, .kind = DataOutput::Kind::kFolder, .url = {}, .glob = {}};
  auto files = Walk(fd.get(), all).Run(".");
  if (files) return files;
  constexpr std::string_view kOutput = "its output ";
  Error error = std::move(files).error();
  if (error.reason.starts_with(kOutput)) error.reason.erase(0, kOutput.size());
  return tl::unexpected(std::move(error));
}

Result<Fd> OpenOutput(const std::string& folder, const OutputFile& file) {
  const Fd top(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!top) return Fail(Code::kInvalid, "the folder of its outputs is gone");
  Fd fd = OpenBeneath(top.get(), file.path, kToRead);
  if (!fd) return Wrong(file.path, "cannot be read: " + std::string(std::strerror(errno)));
  struct stat status{};
  if (fstat(fd.get(), &status) != 0) return Wrong(file.path, std::strerror(errno));
  TIDEMILL_TRY(const std::int64_t size, SizeOf(status, file.path));
  if (size != file.size_bytes) return Wrong(file.path, "has changed while it was stored");
  return fd;
}

bool MatchesGlob(std::string_view glob, std::string_view name) {
  std::size_t g = 0;
  std::size_t n = 0;
  std::size_t star = glob.npos;  // the last one, and how far it reaches
  std::size_t mark = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      mark = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != glob.npos) {
      g = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace tidemill
