// SPDX-License-Identifier: Apache-2.0
#include "frame/stream.h"

#include "frame/bytes.h"

namespace tidemill::frame {
namespace {

constexpr std::uint32_t kTerminal = 1;
constexpr std::uint32_t kWithItem = 1;
constexpr std::uint32_t kPlaceMost = 65535;  // of a port, rows and columns

bool IsPlace(std::uint32_t value) { return value >= 1 && value <= kPlaceMost; }

bool IsSize(TerminalSize size) { return IsPlace(size.rows) && IsPlace(size.columns); }

void PutSize(std::string& out, TerminalSize size) {
  Put(out, std::uint32_t{size.rows});
  Put(out, std::uint32_t{size.columns});
}

// Nothing if it is none.
std::optional<TerminalSize> TakeSize(std::string_view& bytes) {
  const auto rows = Take<std::uint32_t>(bytes);
  const auto columns = Take<std::uint32_t>(bytes);
  if (!IsPlace(rows) || !IsPlace(columns)) return std::nullopt;
  return TerminalSize{static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)};
}

std::string EncodeBytes(Kind kind, std::uint64_t number, std::string_view bytes) {
  bytes = bytes.substr(0, kStreamBytes);
  return Header(kind, number, bytes.size()).append(bytes);
}

std::string EncodeFlag(Kind kind, std::uint64_t number, bool flag) {
  std::string out = Header(kind, number, kFlagBytes);
  Put(out, flag ? 1U : 0U);
  return out;
}

std::string EncodePort(std::uint64_t number, std::uint16_t port) {
  std::string out = Header(Kind::kOpen, number, kOpenBytes);
  Put(out, 0U);
  Put(out, std::uint32_t{port});
  Put(out, 0U);
  Put(out, 0U);
  return out;
}

}  // namespace

std::optional<std::string> EncodeOpen(std::uint64_t number, const Open& open) {
  if (open.port != 0) return EncodePort(number, open.port);
  if (!IsSize(open.size)) return std::nullopt;
  const auto program = EncodeRun(number, open.program);
  if (!program) return std::nullopt;
  const std::string_view payload = std::string_view(*program).substr(kHeaderBytes);
  if (kOpenBytes + payload.size() > kPayloadToInit) return std::nullopt;
  std::string out = Header(Kind::kOpen, number, kOpenBytes + payload.size());
  Put(out, open.terminal ? kTerminal : 0U);
  Put(out, 0U);
  PutSize(out, open.size);
  out.append(payload);
  return out;
}

std::optional<Open> DecodeOpen(std::string_view payload) {
  if (payload.size() < kOpenBytes || payload.size() > kPayloadToInit) return std::nullopt;
  const auto flags = Take<std::uint32_t>(payload);
  const auto port = Take<std::uint32_t>(payload);
  if ((flags & ~kTerminal) != 0 || port > kPlaceMost) return std::nullopt;
  if (port != 0) {
    const auto size = Take<std::uint64_t>(payload);
    if (flags != 0 || size != 0 || !payload.empty()) return std::nullopt;
    return Open{.port = static_cast<std::uint16_t>(port)};
  }
  const auto size = TakeSize(payload);
  auto program = DecodeRun(payload);
  if (!size || !program) return std::nullopt;
  return Open{.terminal = (flags & kTerminal) != 0, .size = *size, .program = std::move(*program)};
}

std::string EncodeGive(std::uint64_t number, std::string_view bytes) {
  return EncodeBytes(Kind::kGive, number, bytes);
}

std::string EncodeOutput(std::uint64_t number, std::string_view bytes) {
  return EncodeBytes(Kind::kOutput, number, bytes);
}

std::string EncodeErrors(std::uint64_t number, std::string_view bytes) {
  return EncodeBytes(Kind::kErrors, number, bytes);
}

std::string EncodeResize(std::uint64_t number, TerminalSize size) {
  std::string out = Header(Kind::kResize, number, kResizeBytes);
  PutSize(out, size);
  return out;
}

std::optional<TerminalSize> DecodeResize(std::string_view payload) {
  if (payload.size() != kResizeBytes) return std::nullopt;
  return TakeSize(payload);
}

std::string EncodeHold(std::uint64_t number, bool hold) {
  return EncodeFlag(Kind::kHold, number, hold);
}

std::string EncodeFull(std::uint64_t number, bool full) {
  return EncodeFlag(Kind::kFull, number, full);
}

std::optional<bool> DecodeFlag(std::string_view payload) {
  if (payload.size() != kFlagBytes) return std::nullopt;
  const auto flag = Take<std::uint32_t>(payload);
  if (flag > 1) return std::nullopt;
  return flag == 1;
}

std::string EncodeClose(std::uint64_t number) { return Header(Kind::kClose, number, 0); }

std::string EncodeOver(std::uint64_t number, const Over& over) {
  std::string out = Header(Kind::kOver, number, kOverBytes);
  Put(out, over.exit);
  Put(out, over.error);
  Put(out, over.with_item ? kWithItem : 0U);
  return out;
}

std::optional<Over> DecodeOver(std::string_view payload) {
  if (payload.size() != kOverBytes) return std::nullopt;
  Over over;
  over.exit = Take<std::int32_t>(payload);
  over.error = Take<std::int32_t>(payload);
  const auto flags = Take<std::uint32_t>(payload);
  over.with_item = (flags & kWithItem) != 0;
  if ((flags & ~kWithItem) != 0) return std::nullopt;
  if (over.exit < 0 || over.exit > kExitMost) return std::nullopt;
  if (over.error < 0 || over.error > kErrorMost) return std::nullopt;
  // What was not started has not exited.
  if (over.exit != 0 && over.error != 0) return std::nullopt;
  return over;
}

}  // namespace tidemill::frame
