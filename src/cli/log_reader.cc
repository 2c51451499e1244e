// SPDX-License-Identifier: Apache-2.0
#include "cli/log_reader.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>

namespace tidemill::cli {
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
  if (size < offset + kLogPieceHeadBytes) return {};
  std::ifstream file(path, std::ios::binary);
  while (offset + kLogPieceHeadBytes <= size) {
    std::array<char, kLogPieceHeadBytes> bytes{};
    file.seekg(static_cast<std::streamoff>(offset));
    if (!file.read(bytes.data(), bytes.size())) {
      return Fail(Code::kInternal, path.string() + ": cannot be read");
    }
    const auto head = ReadLogPieceHead({bytes.data(), bytes.size()});
    if (!head) {
      return Fail(Code::kInternal, path.string() + ": damaged at byte " + std::to_string(offset));
    }
    const std::uint64_t next = offset + kLogPieceHeadBytes + head->length;
    if (next > size) return {};  // torn, or still being written
    offset = next;
    if (head->item != item) continue;
    LogPiece piece{*head, std::string(head->length, '\0')};
    if (!file.read(piece.bytes.data(), static_cast<std::streamsize>(head->length))) {
      return Fail(Code::kInternal, path.string() + ": cannot be read");
    }
    give(piece);
  }
  return {};
}

}  // namespace tidemill::cli
