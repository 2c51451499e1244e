// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/log_spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/fd.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);
constexpr std::string_view kFileMagic = "tmsp";
constexpr std::string_view kPieceMagic = "tlog";
constexpr std::string_view kSuffix = ".pack";
constexpr std::size_t kNameDigits = 12;

template <typename Number>
void Put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Number>
Number Take(std::string_view& bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

// False: it is torn, or damaged from here on.
bool TakePiece(std::string_view& bytes, SpoolPiece& piece) {
  if (bytes.size() < kSpoolPieceHeadBytes || !bytes.starts_with(kPieceMagic)) return false;
  std::string_view rest = bytes.substr(kPieceMagic.size());
  const auto length = Take<std::uint32_t>(rest);
  piece.who.item = Take<std::int64_t>(rest);
  piece.who.round = Take<std::int32_t>(rest);
  piece.who.attempt = Take<std::int32_t>(rest);
  piece.part.time_ms = Take<std::int64_t>(rest);
  piece.part.flags = Take<std::uint32_t>(rest);
  piece.part.missing = Take<std::uint32_t>(rest);
  if (length > kSpoolPieceBytes || length > rest.size() || piece.who.item < 0 ||
      piece.who.round < 0 || piece.who.attempt < 0 || piece.part.flags > LogPart::kFlags) {
    return false;
  }
  piece.part.size = length;
  piece.bytes = rest.substr(0, length);
  bytes = rest.substr(length);
  return true;
}

// For its owner alone, whatever the umask: what items print is nobody else's to read.
void MakePrivateFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  fs::permissions(path, fs::perms::owner_all, error);
}

Error FileError(const std::string& path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  return {full ? Code::kExhausted : Code::kUnavailable, path + ": " + std::strerror(number)};
}

Result<std::string> ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(Code::kNotFound, path + ": cannot be read");
  std::stringstream all;
  all << file.rdbuf();
  return std::move(all).str();
}

}  // namespace

std::string SpoolHead(std::string_view url) {
  std::string out(kFileMagic);
  Put(out, static_cast<std::uint32_t>(url.size()));
  out += url;
  return out;
}

void AppendSpoolPiece(std::string& out, const LogAttempt& who, const LogPart& part,
                      std::string_view bytes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  out += kPieceMagic;
  Put(out, static_cast<std::uint32_t>(bytes.size()));
  Put(out, who.item);
  Put(out, who.round);
  Put(out, who.attempt);
  Put(out, part.time_ms);
  Put(out, part.flags);
  Put(out, static_cast<std::uint32_t>(std::min(part.missing, kMost)));
  out += bytes;
}

Result<Spool> ReadSpool(std::string_view bytes) {
  if (bytes.size() < 8 || !bytes.starts_with(kFileMagic)) {
    return Fail(Code::kInvalid, "not a log that an agent has kept");
  }
  bytes.remove_prefix(kFileMagic.size());
  const auto length = Take<std::uint32_t>(bytes);
  if (length > kSpoolUrlBytes || length > bytes.size()) {
    return Fail(Code::kInvalid, "a log that is damaged");
  }
  Spool spool{.url = bytes.substr(0, length)};
  bytes.remove_prefix(length);
  SpoolPiece piece;
  while (TakePiece(bytes, piece)) spool.pieces.push_back(piece);
  return spool;
}

std::string HolesOf(const Spool& spool) {
  std::map<LogAttempt, LogPart> parts;
  for (const SpoolPiece& piece : spool.pieces) {
    auto [found, fresh] = parts.try_emplace(piece.who, piece.part);
    LogPart& part = found->second;
    part.flags |= piece.part.flags;
    part.missing = (fresh ? 0 : part.missing) + piece.part.missing + piece.bytes.size();
    if (part.missing > 0) part.flags |= LogPart::kHole;
  }
  std::string out = SpoolHead(spool.url);
  for (const auto& [who, part] : parts) AppendSpoolPiece(out, who, part, {});
  return out;
}

std::string SpoolName(std::uint64_t seq) {
  std::string name = std::to_string(seq);
  return std::string(kNameDigits - std::min(name.size(), kNameDigits), '0') + name;
}

std::string SpoolPath(const std::string& folder, std::int64_t job, std::uint64_t seq) {
  return folder + "/" + std::to_string(job) + "/" + SpoolName(seq) + std::string(kSuffix);
}

std::vector<SpoolFile> FindSpools(const std::string& folder) {
  std::vector<SpoolFile> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code gone;
    if (name.size() != kNameDigits + kSuffix.size() || !name.ends_with(kSuffix) ||
        !entry->is_regular_file(gone)) {
      continue;
    }
    SpoolFile file{.path = entry->path().string()};
    const auto read = std::from_chars(name.data(), name.data() + kNameDigits, file.seq);
    if (read.ptr != name.data() + kNameDigits) continue;
    file.bytes = static_cast<std::size_t>(entry->file_size(gone));
    if (!gone) files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(),
            [](const SpoolFile& a, const SpoolFile& b) { return a.seq < b.seq; });
  return files;
}

Result<void> AppendSpool(const std::string& path, std::string_view bytes) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!fs::exists(folder, error)) {
    MakePrivateFolder(folder.parent_path());
    MakePrivateFolder(folder);
  }
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return tl::unexpected(FileError(path, errno));
  const off_t before = lseek(file.get(), 0, SEEK_END);
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Error trouble = FileError(path, written < 0 ? errno : ENOSPC);
      // What follows must not stand behind half a piece; if even that fails, it is torn there.
      if (before >= 0 && ftruncate(file.get(), before) != 0) return tl::unexpected(trouble);
      return tl::unexpected(trouble);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<SpooledPack> PackSpool(const std::string& path) {
  TIDEMILL_TRY(const std::string bytes, ReadWhole(path));
  TIDEMILL_TRY(const Spool spool, ReadSpool(bytes));
  SpooledPack packed{.url = std::string(spool.url)};
  if (packed.url.empty() || spool.pieces.empty()) return packed;
  PackWriter writer;
  for (const SpoolPiece& piece : spool.pieces) writer.Add(piece.who, piece.part, piece.bytes);
  packed.pack = writer.Finish();
  return packed;
}

Result<std::size_t> ShrinkSpool(const std::string& path) {
  TIDEMILL_TRY(const std::string bytes, ReadWhole(path));
  const auto spool = ReadSpool(bytes);
  if (!spool || spool->url.empty()) {
    RemoveSpool(path);
    return std::size_t{0};
  }
  const std::string holes = HolesOf(*spool);
  if (holes.size() >= bytes.size()) return bytes.size();
  // Under another name first: a torn file would lose the holes as well.
  const std::string fresh = path + ".new";
  RemoveSpool(fresh);
  TIDEMILL_TRY_VOID(AppendSpool(fresh, holes));
  if (rename(fresh.c_str(), path.c_str()) != 0) return tl::unexpected(FileError(path, errno));
  return holes.size();
}

void RemoveSpool(const std::string& path) { unlink(path.c_str()); }

}  // namespace tidemill
