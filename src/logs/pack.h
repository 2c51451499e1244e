// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "logs/filter.h"

namespace tidemill {

// A pack: what items of one job wrote on one machine in a while, as one object of a store.
//
//   frame │ frame ... │ directory │ table │ end
//
//   frame      zstd of: groups: varint, groups x group, then the text of all of them
//     group    item: signed, more than in the group before │ round │ attempt │ pieces: varint,
//              pieces x (time_ms: signed, more than in the piece before │ flags │ missing, if the
//              flags have kHole │ bytes)
//   directory  zstd of: attempts: varint, attempts x (item: signed, more than before │ round │
//              attempt │ flags │ time_ms: signed, more than before │ frames: varint,
//              frames x (frame: varint, more than before │ pieces │ bytes of text))
//   table      attempts: varint │ frames: varint, frames x (bytes packed │ bytes unpacked │ bytes
//              of text │ first item: signed │ items behind it: varint │ filter: bytes, then those)
//   end        table bytes: 4 │ directory bytes: 4 │ version: 4, now 1 │ "tmlp"
//
// Numbers are varints of base/bytes.h unless said otherwise; those of the end are little-endian. In
// a frame the pieces stand by attempt and keep their order, so that what an attempt wrote is one
// text. A search reads the table, whose filters say which frames it need not fetch; whoever wants
// one item's log reads the directory too. A change that a reader must not skip is a new version.

// One attempt at an item.
struct LogAttempt {
  std::int64_t item = 0;
  std::int32_t round = 0;
  std::int32_t attempt = 1;
  auto operator<=>(const LogAttempt&) const = default;
};

// Some of what an attempt wrote.
struct LogPart {
  static constexpr std::uint32_t kLast = 1;    // nothing more comes of this attempt
  static constexpr std::uint32_t kHole = 2;    // something is missing before its bytes
  static constexpr std::uint32_t kLimit = 4;   // and that because the log was too long
  static constexpr std::uint32_t kBegins = 8;  // nothing of this attempt came before
  // What an earlier life of its agent wrote last of this attempt may be missing before its bytes.
  static constexpr std::uint32_t kResumed = 16;
  static constexpr std::uint32_t kFlags = 31;  // all of them

  std::int64_t time_ms = 0;  // when it came, by the machine's clock, since 1970
  std::uint32_t flags = 0;
  std::uint64_t missing = 0;  // how many bytes; 0 without kHole
  std::uint64_t size = 0;     // of its text
  bool operator==(const LogPart&) const = default;
};

// Of text, in a frame: larger ones pack a little better and have fewer filters, but a hit or a look
// at one item fetches a whole one.
inline constexpr std::size_t kFrameTextBytes = 4 << 20;
// What a reader takes. A frame's text is at most twice the above, and its heads are bounded by what
// an agent's disk holds of them.
inline constexpr std::size_t kFrameBytesMost = 32 << 20;
inline constexpr std::size_t kDirectoryBytesMost = 64 << 20;
inline constexpr std::size_t kTableBytesMost = 16 << 20;
inline constexpr std::size_t kPackFramesMost = 4096;
// Each life of an agent numbers its packs on from a multiple of this, so that two lives of one
// session have no number in common: a million packs last most of a year.
inline constexpr std::uint64_t kPacksPerLife = 1'000'000;

inline constexpr std::size_t kPackEndBytes = 16;

struct PackEnd {
  std::uint32_t table_bytes = 0;
  std::uint32_t directory_bytes = 0;
};

struct PackFrame {
  std::uint64_t offset = 0;  // in the pack
  std::uint64_t bytes = 0;   // packed
  std::uint64_t unpacked = 0;
  std::uint64_t text_bytes = 0;
  std::int64_t first_item = 0;
  std::int64_t last_item = 0;
  GramFilter filter = {};
};

struct PackTable {
  std::uint64_t attempts = 0;
  std::vector<PackFrame> frames = {};
  std::uint64_t directory_offset = 0;
  std::uint64_t directory_bytes = 0;

  std::uint64_t text_bytes() const;
  bool MayHave(std::int64_t item) const;
};

// Where the parts of an attempt are in a pack.
struct PackEntry {
  LogAttempt who = {};
  bool begins = false;
  bool ends = false;
  std::int64_t time_ms = 0;  // of its first part here
  struct In {
    std::uint32_t frame = 0;
    std::uint64_t parts = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<In> frames = {};
};

// A frame, unpacked.
struct LogFrame {
  struct Group {
    LogAttempt who = {};
    std::size_t first_part = 0;
    std::size_t parts = 0;
    std::size_t text_at = 0;
    std::size_t text_bytes = 0;
  };
  std::vector<Group> groups = {};  // by attempt
  std::vector<LogPart> parts = {};
  std::string raw = {};
  std::size_t text_at = 0;  // in `raw`

  std::string_view TextOf(const Group& group) const {
    return std::string_view(raw).substr(text_at + group.text_at, group.text_bytes);
  }
};

// Makes a pack, on one thread.
class PackWriter {
 public:
  explicit PackWriter(std::size_t frame_bytes = kFrameTextBytes) : frame_bytes_(frame_bytes) {}

  // In the order in which they came; of any attempt. Text longer than a frame is cut.
  void Add(const LogAttempt& who, LogPart part, std::string_view text);
  bool empty() const { return out_.empty() && waiting_.empty(); }
  // The whole pack. May be called once.
  std::string Finish();

 private:
  struct Waiting {
    LogAttempt who;
    LogPart part;
    std::size_t text_at;
  };
  void Put(const LogAttempt& who, const LogPart& part, std::string_view text);
  void CloseFrame();
  std::string PackDirectory();
  std::string PackTableBytes() const;

  std::size_t frame_bytes_;
  std::string out_;
  std::vector<Waiting> waiting_;
  std::string text_;  // of those
  std::vector<PackFrame> frames_;
  std::vector<PackEntry> entries_;  // one for each frame an attempt is in, until the end
};

// All of these believe nothing: kInvalid for whatever no writer writes.
Result<PackEnd> ReadPackEnd(std::string_view last_bytes);
// `table` is the bytes between the directory and the end, of a pack of so many bytes.
Result<PackTable> ReadPackTable(const PackEnd& end, std::string_view table,
                                std::uint64_t pack_bytes);
Result<std::vector<PackEntry>> ReadPackDirectory(std::string_view packed);
Result<LogFrame> ReadLogFrame(std::string_view packed);

}  // namespace tidemill
