// SPDX-License-Identifier: Apache-2.0
#include "cli/pack_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/fd.h"
#include "base/zstd_stream.h"
#include "cli/format.h"
#include "submit/ignore.h"
#include "submit/tar_writer.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 5;
constexpr std::int64_t kRulesBytes = 256 << 10;
// What agents unpack; see UnpackLimits.
constexpr int kDepth = 32;

tl::unexpected<Error> Wrong(const std::string& name, const std::string& why) {
  return Fail(Code::kInvalid, Printable(name) + ": " + why);
}

class Packer {
 public:
  Packer(std::string folder, IgnoreRules rules, const PackLimits& limits, TarWrite write,
         std::string below = "")
      : folder_(std::move(folder)),
        rules_(std::move(rules)),
        limits_(limits),
        write_(std::move(write)),
        below_(std::move(below)) {}

  // Without the archive's end.
  Result<void> Run() { return Folder("", 1); }

  const PackedFolder& made() const { return made_; }
  tl::unexpected<Error> TooLarge(std::int64_t most) const {
    std::string text = folder_ + " has more than " + BytesText(most) + " to send; its largest:";
    for (const auto& [bytes, name] : largest_) {
      text += "\n  " + BytesText(bytes) + "  " + Printable(name);
    }
    return Fail(Code::kInvalid, text + "\nName what is no code in " +
                                    std::string(IgnoreRules::kFile) +
                                    "; keep data in an object store");
  }

 private:
  Result<void> Folder(const std::string& name, int depth) {
    if (depth > kDepth) return Wrong(name, "is too deep");
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(folder_ + "/" + name, error), end; !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) return Wrong(name.empty() ? folder_ : name, error.message());
    // In one order wherever it is packed.
    std::sort(names.begin(), names.end());
    for (const std::string& one : names) {
      TIDEMILL_TRY_VOID(Entry(name.empty() ? one : name + "/" + one, depth));
    }
    return {};
  }

  Result<void> Entry(const std::string& name, int depth) {
    struct stat status{};
    const std::string path = folder_ + "/" + name;
    if (lstat(path.c_str(), &status) != 0) return Wrong(name, std::strerror(errno));
    const bool is_folder = S_ISDIR(status.st_mode);
    // A virtual environment by any name: it is of this machine alone.
    const bool is_environment = is_folder && ::access((path + "/pyvenv.cfg").c_str(), F_OK) == 0;
    const bool is_other = !is_folder && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode);
    if (is_environment || is_other || rules_.LeavesOut(name, is_folder)) {
      if (name == IgnoreRules::kFile) return {};
      ++made_.left_out_count;
      if (made_.left_out.size() < kShown) made_.left_out.push_back(name);
      return {};
    }
    if (++entries_ > limits_.entries) {
      return Fail(Code::kInvalid, folder_ + " has more than " + Thousands(limits_.entries) +
                                      " files; name those that are no code in " +
                                      std::string(IgnoreRules::kFile));
    }
    if (is_folder) {
      TIDEMILL_TRY_VOID(write_(TarHeader({.kind = TarItem::Kind::kFolder, .name = below_ + name})));
      return Folder(name, depth + 1);
    }
    return S_ISLNK(status.st_mode) ? Link(name) : File(name, status);
  }

  Result<void> Link(const std::string& name) {
    std::error_code error;
    const std::string target = fs::read_symlink(folder_ + "/" + name, error).string();
    if (error) return Wrong(name, error.message());
    // The rule of those who unpack it: up at its beginning only, and not out.
    auto up = std::count(name.begin(), name.end(), '/');
    bool down = false;
    bool leads_out = target.starts_with('/');
    for (const fs::path& part : fs::path(target)) {
      if (part == "..") leads_out = leads_out || down || --up < 0;
      if (part != ".." && part != ".") down = true;
    }
    if (leads_out) {
      return Wrong(name, "a link to '" + Printable(target) +
                             "', which is not in the folder; put the file itself there, or name "
                             "the link in " +
                             std::string(IgnoreRules::kFile));
    }
    return write_(
        TarHeader({.kind = TarItem::Kind::kLink, .name = below_ + name, .target = target}));
  }

  Result<void> File(const std::string& name, const struct stat& status) {
    const Fd fd(open((folder_ + "/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return Wrong(name, std::strerror(errno));
    Note(name, status.st_size);
    if (made_.file_bytes > limits_.bytes) return TooLarge(limits_.bytes);
    TIDEMILL_TRY_VOID(write_(TarHeader({.name = below_ + name,
                                        .size_bytes = status.st_size,
                                        .executable = (status.st_mode & S_IXUSR) != 0})));
    std::int64_t left = status.st_size;
    std::string piece(256 << 10, '\0');
    while (left > 0) {
      const auto want = std::min<std::int64_t>(left, static_cast<std::int64_t>(piece.size()));
      const ssize_t got = ::read(fd.get(), piece.data(), static_cast<std::size_t>(want));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Wrong(name, std::strerror(errno));
      if (got == 0) return Wrong(name, "it changed while it was packed");
      TIDEMILL_TRY_VOID(write_(std::string_view(piece).substr(0, static_cast<std::size_t>(got))));
      left -= got;
    }
    return write_(TarPadding(status.st_size));
  }

  void Note(const std::string& name, std::int64_t bytes) {
    ++made_.files;
    made_.file_bytes += bytes;
    largest_.emplace_back(bytes, name);
    std::sort(largest_.rbegin(), largest_.rend());
    if (largest_.size() > kShown) largest_.pop_back();
  }

  const std::string folder_;
  const IgnoreRules rules_;
  const PackLimits limits_;
  PackedFolder made_;
  std::int64_t entries_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> largest_;
  const TarWrite write_;
  const std::string below_;
};

Result<IgnoreRules> RulesOf(const std::string& folder) {
  const std::string path = folder + "/" + std::string(IgnoreRules::kFile);
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (static_cast<std::int64_t>(text.size()) > kRulesBytes) return Wrong(path, "is too long");
  auto rules = IgnoreRules::Parse(text);
  if (!rules) return Fail(Code::kInvalid, path + ":" + rules.error().reason);
  return rules;
}

}  // namespace

Result<PackedFolder> PackFolder(const std::string& folder, const PackLimits& limits) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Fail(Code::kInvalid, "code: " + folder + " is not a folder");
  }
  TIDEMILL_TRY(IgnoreRules rules, RulesOf(folder));
  std::string bytes;
  const Packer* packing = nullptr;
  ZstdWriter zstd([&](std::string_view more) -> Result<void> {
    bytes += more;
    if (static_cast<std::int64_t>(bytes.size()) <= limits.packed_bytes) return {};
    return packing->TooLarge(limits.packed_bytes);
  });
  Packer packer(folder, std::move(rules), limits,
                [&zstd](std::string_view more) { return zstd.Add(more); });
  packing = &packer;
  TIDEMILL_TRY_VOID(packer.Run());
  TIDEMILL_TRY_VOID(zstd.Add(TarEnd()));
  TIDEMILL_TRY_VOID(zstd.End());
  PackedFolder made = packer.made();
  made.bytes = std::move(bytes);
  return made;
}

Result<void> TarFolder(const std::string& folder, const std::string& below,
                       const PackLimits& limits, TarWrite write) {
  TIDEMILL_TRY(IgnoreRules rules, RulesOf(folder));
  return Packer(folder, std::move(rules), limits, std::move(write), below).Run();
}

}  // namespace tidemill::cli
