// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemill {

// What an item wrote, as agents keep it on disk and the command line reads it. A job has a folder,
// named by its number, with files 000000.pack, 000001.pack ..., which are only ever appended to.
// Each is a sequence of pieces:
//
//   "tlog" │ length: 4 │ item: 8 │ round: 4 │ attempt: 4 │ time_ms: 8 │ flags: 4 │ zero: 4 │ bytes
//
// Little-endian. The log of an attempt is its pieces in their order; those of several attempts
// stand between each other.
struct LogPieceHead {
  std::int64_t item = 0;
  std::int32_t round = 0;
  std::int32_t attempt = 0;
  std::int64_t time_ms = 0;  // when its first byte came, by the machine's clock, since 1970
  bool last = false;         // nothing more comes of this attempt
  bool has_hole = false;     // something is missing before these bytes
  std::uint32_t length = 0;  // of the bytes
};

inline constexpr std::size_t kLogPieceHeadBytes = 40;
inline constexpr std::uint32_t kLogPieceLast = 1;
inline constexpr std::uint32_t kLogPieceHole = 2;
// As much as an agent holds in memory; a larger length is damage, not a piece.
inline constexpr std::uint32_t kLogPieceBytes = 16 << 20;

// The head's length is that of `bytes`.
void AppendLogPiece(std::string& out, const LogPieceHead& head, std::string_view bytes);
// Of kLogPieceHeadBytes bytes. Nothing: no agent writes these.
std::optional<LogPieceHead> ReadLogPieceHead(std::string_view bytes);

}  // namespace tidemill
