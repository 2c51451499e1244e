// SPDX-License-Identifier: Apache-2.0
#include "unpack/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace tidemill {
namespace {

constexpr mode_t kFolderMode = 0555;
constexpr mode_t kFileMode = 0444;
constexpr mode_t kProgramMode = 0555;

tl::unexpected<Error> FailErrno(const std::string& doing) {
  const int number = errno;
  const bool is_full = number == ENOSPC || number == EDQUOT;
  return Fail(is_full ? Code::kExhausted : Code::kUnavailable,
              doing + ": " + std::strerror(number));
}

class Unpacking {
 public:
  Unpacking(ByteRead packed, Fd root, const UnpackLimits& limits)
      : packed_(std::move(packed)),
        root_(std::move(root)),
        limits_(limits),
        names_(limits),
        zstd_([this](char* to, std::size_t size) -> Result<std::size_t> {
          TIDEMILL_TRY(const std::size_t got, packed_(to, size));
          packed_bytes_ += static_cast<std::int64_t>(got);
          return got;
        }),
        tar_([this](char* to, std::size_t size) { return ReadUnpacked(to, size); }) {}

  Result<std::int64_t> Run() {
    while (true) {
      TIDEMILL_TRY(const std::optional<TarEntry> entry, tar_.Next());
      if (!entry) break;
      if (entry->size_bytes > limits_.bytes - bytes_) {
        return Fail(Code::kInvalid,
                    "the archive has more than " + std::to_string(limits_.bytes) + " bytes");
      }
      bytes_ += entry->size_bytes;
      TIDEMILL_TRY(const UnpackNames::Place place, names_.Take(*entry));
      for (const std::string& folder : place.folders) TIDEMILL_TRY_VOID(MakeFolder(folder));
      if (!place.name.empty()) TIDEMILL_TRY_VOID(Make(*entry, place));
    }
    // From the inside out: a folder that is shut takes nothing more.
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
      if (fchmodat(root_.get(), folder->c_str(), kFolderMode, 0) != 0) return FailErrno(*folder);
    }
    if (fchmod(root_.get(), kFolderMode) != 0) return FailErrno("the folder");
    return bytes_;
  }

 private:
  Result<std::size_t> ReadUnpacked(char* to, std::size_t size) {
    TIDEMILL_TRY(const std::size_t got, zstd_.Read(to, size));
    unpacked_bytes_ += static_cast<std::int64_t>(got);
    if (unpacked_bytes_ > limits_.ratio_from &&
        unpacked_bytes_ / limits_.ratio > std::max<std::int64_t>(packed_bytes_, 1)) {
      return Fail(Code::kInvalid, "the archive is more than " + std::to_string(limits_.ratio) +
                                      " times as large as what it is packed in");
    }
    return got;
  }

  Result<void> MakeFolder(const std::string& name) {
    if (mkdirat(root_.get(), name.c_str(), 0700) != 0) return FailErrno(name);
    folders_.push_back(name);
    return {};
  }

  Result<void> Make(const TarEntry& entry, const UnpackNames::Place& place) {
    const int root = root_.get();
    const char* const name = place.name.c_str();
    switch (entry.kind) {
      case TarEntry::Kind::kFolder:
        return MakeFolder(place.name);
      case TarEntry::Kind::kLink:
        if (symlinkat(place.target.c_str(), root, name) != 0) return FailErrno(place.name);
        return {};
      case TarEntry::Kind::kHardLink:
        if (linkat(root, place.target.c_str(), root, name, 0) != 0) return FailErrno(place.name);
        return {};
      case TarEntry::Kind::kFile:
        break;
    }
    const Fd file(openat(root, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return FailErrno(place.name);
    while (true) {
      TIDEMILL_TRY(const std::size_t got, tar_.Read(held_.data(), held_.size()));
      if (got == 0) break;
      TIDEMILL_TRY_VOID(Write(file, {held_.data(), got}, place.name));
    }
    if (fchmod(file.get(), entry.executable ? kProgramMode : kFileMode) != 0) {
      return FailErrno(place.name);
    }
    return {};
  }

  static Result<void> Write(const Fd& file, std::string_view bytes, const std::string& name) {
    while (!bytes.empty()) {
      const ssize_t put = write(file.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return FailErrno(name);
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
  }

  const ByteRead packed_;
  const Fd root_;
  const UnpackLimits limits_;
  UnpackNames names_;
  ZstdReader zstd_;
  TarReader tar_;
  std::vector<char> held_ = std::vector<char>(256 << 10);
  std::vector<std::string> folders_;
  std::int64_t packed_bytes_ = 0;
  std::int64_t unpacked_bytes_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace

Result<std::int64_t> UnpackTarZstd(ByteRead packed, const std::string& folder,
                                   const UnpackLimits& limits) {
  Fd root(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!root) return FailErrno(folder);
  return Unpacking(std::move(packed), std::move(root), limits).Run();
}

void RemoveUnpacked(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  // What is in a folder can be removed only by who may write there. A folder is opened before it is
  // walked into.
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
  fs::recursive_directory_iterator walk(folder, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    std::error_code unread;
    if (walk->is_directory(unread) && !walk->is_symlink(unread)) {
      fs::permissions(walk->path(), fs::perms::owner_all, fs::perm_options::add, unread);
    }
  }
  fs::remove_all(folder, error);
}

}  // namespace tidemill
