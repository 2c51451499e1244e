// SPDX-License-Identifier: Apache-2.0
#include "submit/cut.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/limits.h"

namespace tidemill {
namespace {

// An item alone must fit in a chunk, or no cut would be early enough.
static_assert(limits::kItemBytes <= limits::kChunkTextBytes);

// How many bytes the UTF-8 character at the front of `text` has; 0 if there is none, or it is
// longer than it need be, half of a surrogate pair, or past U+10FFFF.
std::size_t CharacterSize(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2   ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return size;
}

// Whether the next eight bytes are all ASCII, and none is NUL.
bool IsPlain(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  constexpr std::uint64_t kHigh = 0x8080'8080'8080'8080;
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  return ((word | (word - kOnes)) & kHigh) == 0;
}

// Where `text` stops being UTF-8 without NUL; its size if it does not.
std::size_t FindBad(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (text.size() - i >= 8 && IsPlain(text.data() + i)) {
      i += 8;
      continue;
    }
    const std::size_t size = text[i] == '\0' ? 0 : CharacterSize(text.substr(i));
    if (size == 0) return i;
    i += size;
  }
  return i;
}

tl::unexpected<Error> BadLine(std::int64_t number, std::string_view why) {
  return Fail(Code::kInvalid, "line " + std::to_string(number) + " " + std::string(why));
}

Result<void> CheckLine(std::int64_t number, std::string_view line) {
  if (line.empty()) return BadLine(number, "is empty: remove it, every line is an item");
  if (line.size() > limits::kItemBytes) {
    return BadLine(number, "has " + std::to_string(line.size()) + " bytes, an item at most " +
                               std::to_string(limits::kItemBytes) +
                               ": keep data in an object store, and let the item name it");
  }
  const std::size_t bad = FindBad(line);
  if (bad == line.size()) return {};
  const std::string where = " at byte " + std::to_string(bad + 1);
  if (line[bad] == '\0') {
    return BadLine(number, "has a NUL" + where + ": remove it, items are text");
  }
  return BadLine(number, "is not UTF-8" + where + ": convert the list, or encode the item");
}

// Takes lines and gives chunks.
class Cutter {
 public:
  void Add(std::string_view line) {
    if (length_ == limits::kItemsPerChunk ||
        (length_ > 0 && text_.size() + 1 + line.size() > limits::kChunkTextBytes)) {
      Close();
    }
    if (length_ > 0) text_.push_back('\n');
    text_ += line;
    ++length_;
  }

  CutPart Finish() {
    if (length_ > 0) Close();
    return std::move(part_);
  }

 private:
  void Close() {
    part_.chunks.push_back({length_, Compress(text_)});
    part_.items += length_;
    text_.clear();
    length_ = 0;
  }

  CutPart part_;
  std::string text_;  // of the chunk that is being filled
  int length_ = 0;
};

}  // namespace

Result<CutPart> CutLines(std::string_view text) {
  if (text.size() > limits::kPartBytes) {
    return Fail(Code::kInvalid, "has " + std::to_string(text.size()) + " bytes, a part at most " +
                                    std::to_string(limits::kPartBytes) +
                                    ": send it as several parts");
  }
  const std::size_t end = text.find_last_not_of("\r\n");
  if (end == std::string_view::npos)
    return Fail(Code::kInvalid, "has no items: send at least one line");
  text = text.substr(0, end + 1);
  Cutter cutter;
  for (std::int64_t number = 1;; ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    if (line.ends_with('\r')) line.remove_suffix(1);
    TIDEMILL_TRY_VOID(CheckLine(number, line));
    cutter.Add(line);
    if (newline == std::string_view::npos) break;
    text.remove_prefix(newline + 1);
  }
  return cutter.Finish();
}

Result<std::vector<std::string>> UnpackItems(std::string_view body, int length) {
  TIDEMILL_TRY(const std::string text, Decompress(body, limits::kChunkTextBytes));
  const auto count = std::count(text.begin(), text.end(), '\n') + 1;
  if (count != length) {
    return Fail(Code::kInvalid,
                "holds " + std::to_string(count) + " items, not " + std::to_string(length));
  }
  std::vector<std::string> items;
  items.reserve(count);
  for (std::string_view rest = text;;) {
    const std::size_t newline = rest.find('\n');
    items.emplace_back(rest.substr(0, newline));
    if (newline == std::string_view::npos) return items;
    rest.remove_prefix(newline + 1);
  }
}

}  // namespace tidemill
