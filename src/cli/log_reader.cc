// SPDX-License-Identifier: Apache-2.0
#include "cli/log_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <system_error>

namespace tidemill::cli {
namespace {

constexpr std::uint32_t kMagic = 0x676f6c74;
constexpr std::uint32_t kLast = 1;
constexpr std::uint32_t kLeftOut = 2;

static_assert(std::endian::native == std::endian::little);

template <typename T>
T Take(const char* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

Result<bool> LogReader::ReadNew(std::int64_t item,
                                const std::function<void(const LogPiece&)>& give) {
  std::error_code error;
  std::vector<std::filesystem::path> packs;
  for (std::filesystem::directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".pack") packs.push_back(it->path());
  }
  if (error == std::errc::no_such_file_or_directory) return false;
  if (error) return Fail(Code::kInternal, folder_.string() + ": " + error.message());
  std::sort(packs.begin(), packs.end());
  for (const auto& pack : packs) {
    TIDEMILL_TRY_VOID(ReadPack(pack, offsets_[pack.filename().string()], item, give));
  }
  return true;
}

Result<void> LogReader::ReadPack(const std::filesystem::path& path, std::uint64_t& offset,
                                 std::int64_t item,
                                 const std::function<void(const LogPiece&)>& give) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  // The agent removes packs that are too old.
  if (error == std::errc::no_such_file_or_directory) return {};
  if (error) return Fail(Code::kInternal, path.string() + ": " + error.message());
  if (size < offset + kLogHeaderBytes) return {};
  std::ifstream file(path, std::ios::binary);
  while (offset + kLogHeaderBytes <= size) {
    std::array<char, kLogHeaderBytes> head{};
    file.seekg(static_cast<std::streamoff>(offset));
    if (!file.read(head.data(), head.size())) {
      return Fail(Code::kInternal, path.string() + ": cannot be read");
    }
    const auto length = Take<std::uint32_t>(&head[4]);
    if (Take<std::uint32_t>(&head[0]) != kMagic || length > kLongestLogPiece) {
      return Fail(Code::kInternal, path.string() + ": damaged at byte " + std::to_string(offset));
    }
    if (offset + kLogHeaderBytes + length > size) return {};  // torn, or still being written
    offset += kLogHeaderBytes + length;
    if (Take<std::int64_t>(&head[8]) != item) continue;
    LogPiece piece;
    piece.item = item;
    piece.round = Take<std::int32_t>(&head[16]);
    piece.attempt = Take<std::int32_t>(&head[20]);
    piece.time_ms = Take<std::int64_t>(&head[24]);
    const auto flags = Take<std::uint32_t>(&head[32]);
    piece.last = (flags & kLast) != 0;
    piece.left_out = (flags & kLeftOut) != 0;
    piece.bytes.resize(length);
    if (!file.read(piece.bytes.data(), static_cast<std::streamsize>(length))) {
      return Fail(Code::kInternal, path.string() + ": cannot be read");
    }
    give(piece);
  }
  return {};
}

}  // namespace tidemill::cli
