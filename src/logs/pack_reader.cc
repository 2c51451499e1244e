// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "logs/pack.h"

namespace tidemill {
namespace {

constexpr std::uint64_t kInt32Most = std::numeric_limits<std::int32_t>::max();

Error NoPack(const std::string& what) { return {Code::kInvalid, "not a log pack: " + what}; }

std::uint32_t FourAt(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

// Sums wrap: what is out of bounds is found by the check of the result.
std::int64_t Plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// False: no writer has such a one behind the one before.
bool ReadWho(ByteReader& in, LogAttempt& who, bool first) {
  const LogAttempt before = who;
  who.item = Plus(before.item, in.Signed());
  const std::uint64_t round = in.Varint();
  const std::uint64_t attempt = in.Varint();
  if (!in.ok() || round > kInt32Most || attempt > kInt32Most || who.item < 0) return false;
  who.round = static_cast<std::int32_t>(round);
  who.attempt = static_cast<std::int32_t>(attempt);
  return first || before < who;
}

}  // namespace

std::uint64_t PackTable::text_bytes() const {
  std::uint64_t sum = 0;
  for (const PackFrame& frame : frames) sum += frame.text_bytes;
  return sum;
}

bool PackTable::MayHave(std::int64_t item) const {
  for (const PackFrame& frame : frames) {
    if (frame.first_item <= item && item <= frame.last_item) return true;
  }
  return false;
}

Result<PackEnd> ReadPackEnd(std::string_view bytes) {
  if (bytes.size() != kPackEndBytes || bytes.substr(12) != "tmlp") {
    return tl::unexpected(NoPack("its end is something else"));
  }
  if (FourAt(bytes, 8) != 1) return tl::unexpected(NoPack("of another version"));
  const PackEnd end{FourAt(bytes, 0), FourAt(bytes, 4)};
  if (end.table_bytes > kTableBytesMost || end.directory_bytes > kDirectoryBytesMost) {
    return tl::unexpected(NoPack("its table is too large"));
  }
  return end;
}

Result<PackTable> ReadPackTable(const PackEnd& end, std::string_view bytes,
                                std::uint64_t pack_bytes) {
  const std::uint64_t behind = std::uint64_t{kPackEndBytes} + end.table_bytes + end.directory_bytes;
  if (bytes.size() != end.table_bytes || behind > pack_bytes) {
    return tl::unexpected(NoPack("its table is cut"));
  }
  PackTable table;
  table.directory_offset = pack_bytes - behind;
  table.directory_bytes = end.directory_bytes;
  ByteReader in(bytes);
  table.attempts = in.Varint();
  const std::uint64_t frames = in.Varint();
  if (!in.ok() || frames > kPackFramesMost) return tl::unexpected(NoPack("its frames"));
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < frames; ++i) {
    PackFrame frame;
    frame.offset = offset;
    frame.bytes = in.Varint();
    frame.unpacked = in.Varint();
    frame.text_bytes = in.Varint();
    frame.first_item = in.Signed();
    const std::uint64_t more = in.Varint();
    const std::uint64_t filter = in.Varint();
    frame.filter = GramFilter(in.Take(filter));
    if (!in.ok() || frame.bytes > table.directory_offset - offset || frame.first_item < 0 ||
        more > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() -
                                          frame.first_item) ||
        frame.unpacked > kFrameBytesMost || frame.text_bytes > frame.unpacked) {
      return tl::unexpected(NoPack("a frame in its table"));
    }
    frame.last_item = frame.first_item + static_cast<std::int64_t>(more);
    offset += frame.bytes;
    table.frames.push_back(std::move(frame));
  }
  if (!in.done() || offset != table.directory_offset) return tl::unexpected(NoPack("its table"));
  return table;
}

Result<std::vector<PackEntry>> ReadPackDirectory(std::string_view packed) {
  TIDEMILL_TRY(const std::string raw, Decompress(packed, kDirectoryBytesMost));
  ByteReader in(raw);
  const std::uint64_t count = in.Varint();
  std::vector<PackEntry> entries;
  LogAttempt who;
  std::int64_t time = 0;
  // Each takes some bytes, so a wrong count ends by itself.
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    if (!ReadWho(in, who, i == 0)) return tl::unexpected(NoPack("its directory's order"));
    PackEntry entry{.who = who};
    const std::uint64_t flags = in.Varint();
    entry.begins = (flags & LogPart::kBegins) != 0;
    entry.ends = (flags & LogPart::kLast) != 0;
    time = Plus(time, in.Signed());
    entry.time_ms = time;
    const std::uint64_t frames = in.Varint();
    std::uint64_t frame = 0;
    for (std::uint64_t k = 0; k < frames && in.ok(); ++k) {
      frame += in.Varint();
      PackEntry::In place{.parts = in.Varint(), .bytes = in.Varint()};
      if (frame >= kPackFramesMost) return tl::unexpected(NoPack("a frame in its directory"));
      place.frame = static_cast<std::uint32_t>(frame);
      entry.frames.push_back(place);
    }
    entries.push_back(std::move(entry));
  }
  if (!in.ok() || !in.done()) return tl::unexpected(NoPack("its directory"));
  return entries;
}

namespace {

// The parts of a group; `text` is what all parts before it have of text.
bool ReadParts(ByteReader& in, LogFrame& frame, std::uint64_t count, std::int64_t& time,
               std::uint64_t& text) {
  for (std::uint64_t k = 0; k < count && in.ok(); ++k) {
    LogPart part;
    time = Plus(time, in.Signed());
    part.time_ms = time;
    const std::uint64_t flags = in.Varint();
    if (flags > LogPart::kFlags) return false;
    part.flags = static_cast<std::uint32_t>(flags);
    if ((flags & LogPart::kHole) != 0) part.missing = in.Varint();
    part.size = in.Varint();
    if (part.size > kFrameBytesMost) return false;
    text += part.size;
    if (text > kFrameBytesMost) return false;
    frame.parts.push_back(part);
  }
  return in.ok();
}

}  // namespace

Result<LogFrame> ReadLogFrame(std::string_view packed) {
  LogFrame frame;
  TIDEMILL_TRY(frame.raw, Decompress(packed, kFrameBytesMost));
  ByteReader in(frame.raw);
  const std::uint64_t groups = in.Varint();
  LogAttempt who;
  std::int64_t time = 0;
  std::uint64_t text = 0;
  for (std::uint64_t i = 0; i < groups && in.ok(); ++i) {
    if (!ReadWho(in, who, i == 0)) return tl::unexpected(NoPack("a frame's order"));
    const std::uint64_t count = in.Varint();
    LogFrame::Group group{.who = who, .first_part = frame.parts.size(), .text_at = text};
    if (!ReadParts(in, frame, count, time, text)) return tl::unexpected(NoPack("a frame's heads"));
    group.parts = frame.parts.size() - group.first_part;
    group.text_bytes = text - group.text_at;
    frame.groups.push_back(group);
  }
  if (!in.ok() || in.Take(text).size() != text || !in.done()) {
    return tl::unexpected(NoPack("a frame"));
  }
  frame.text_at = frame.raw.size() - text;
  return frame;
}

}  // namespace tidemill
