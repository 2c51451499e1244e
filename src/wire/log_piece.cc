// SPDX-License-Identifier: Apache-2.0
#include "wire/log_piece.h"

#include <bit>
#include <cstring>

namespace tidemill {
namespace {

constexpr std::uint32_t kMagic = 0x676f6c74;  // "tlog"

static_assert(std::endian::native == std::endian::little);

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

}  // namespace

void AppendLogPiece(std::string& out, const LogPieceHead& head, std::string_view bytes) {
  const std::uint32_t flags = (head.last ? kLogPieceLast : 0) | (head.has_hole ? kLogPieceHole : 0);
  Put(out, kMagic);
  Put(out, static_cast<std::uint32_t>(bytes.size()));
  Put(out, head.item);
  Put(out, head.round);
  Put(out, head.attempt);
  Put(out, head.time_ms);
  Put(out, flags);
  Put(out, std::uint32_t{0});
  out.append(bytes);
}

std::optional<LogPieceHead> ReadLogPieceHead(std::string_view bytes) {
  if (bytes.size() < kLogPieceHeadBytes || Take<std::uint32_t>(bytes) != kMagic) {
    return std::nullopt;
  }
  LogPieceHead head;
  head.length = Take<std::uint32_t>(bytes);
  head.item = Take<std::int64_t>(bytes);
  head.round = Take<std::int32_t>(bytes);
  head.attempt = Take<std::int32_t>(bytes);
  head.time_ms = Take<std::int64_t>(bytes);
  const auto flags = Take<std::uint32_t>(bytes);
  head.last = (flags & kLogPieceLast) != 0;
  head.has_hole = (flags & kLogPieceHole) != 0;
  if (head.length > kLogPieceBytes) return std::nullopt;
  return head;
}

}  // namespace tidemill
