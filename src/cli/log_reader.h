// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill::cli {

// One piece of an item's log, as the agent wrote it, little-endian:
//
//   u32 "tlog" │ u32 length │ i64 item │ i32 round │ i32 attempt │ i64 time_ms │ u32 flags │ u32 0
//   then `length` bytes
struct LogPiece {
  std::int64_t item = 0;
  std::int32_t round = 0;
  std::int32_t attempt = 0;
  std::int64_t time_ms = 0;  // the machine's clock, since 1970
  bool last = false;         // of this attempt
  bool left_out = false;     // something is missing before these bytes
  std::string bytes;
};

// Reads what the agent of this machine has kept of a job's logs: <state>/logs/<job number>/ with
// 000000.pack, 000001.pack and so on, which it only ever appends to. A piece that is not whole yet
// is read when it is. One thread.
class LogReader {
 public:
  explicit LogReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Gives the pieces of one item that have come since the last call, in the order they were
  // written. Other items' are skipped without being read. False: there is no folder.
  // kInternal: a pack cannot be read, or has bytes that no agent writes.
  Result<bool> ReadNew(std::int64_t item, const std::function<void(const LogPiece&)>& give);

 private:
  Result<void> ReadPack(const std::filesystem::path& path, std::uint64_t& offset, std::int64_t item,
                        const std::function<void(const LogPiece&)>& give);

  const std::filesystem::path folder_;
  std::map<std::string, std::uint64_t> offsets_;  // of each pack, where the next piece begins
};

inline constexpr std::size_t kLogHeaderBytes = 40;
// As the agent holds itself to; a larger length is damage, not a piece.
inline constexpr std::uint32_t kLongestLogPiece = 16 << 20;

}  // namespace tidemill::cli
