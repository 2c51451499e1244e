// SPDX-License-Identifier: Apache-2.0
#include "unpack/tar_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace tidemill {
namespace {

constexpr std::size_t kBlock = 512;

std::int64_t PaddingOf(std::int64_t size) {
  return (static_cast<std::int64_t>(kBlock) - size % static_cast<std::int64_t>(kBlock)) %
         static_cast<std::int64_t>(kBlock);
}

std::string_view FieldOf(std::string_view block, std::size_t at, std::size_t size) {
  const std::string_view field = block.substr(at, size);
  return field.substr(0, field.find('\0'));
}

// Octal digits, or GNU's binary form with its highest bit set.
Result<std::int64_t> NumberOf(std::string_view block, std::size_t at, std::size_t size) {
  const std::string_view raw = block.substr(at, size);
  if ((static_cast<unsigned char>(raw[0]) & 0x80) != 0) {
    std::uint64_t number = static_cast<unsigned char>(raw[0]) & 0x7f;
    for (const char c : raw.substr(1)) {
      if (number >> 54 != 0) return Fail(Code::kInvalid, "a number in the archive is too large");
      number = number << 8 | static_cast<unsigned char>(c);
    }
    return static_cast<std::int64_t>(number);
  }
  std::string_view text = FieldOf(block, at, size);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  if (text.empty()) return 0;
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) {
    return Fail(Code::kInvalid, "a number in the archive is none");
  }
  return number;
}

bool HasGoodSum(std::string_view block) {
  constexpr std::size_t kSumAt = 148;
  constexpr std::size_t kSumSize = 8;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kSumAt && i < kSumAt + kSumSize;
    sum += is_sum ? ' ' : static_cast<unsigned char>(block[i]);
  }
  const auto told = NumberOf(block, kSumAt, kSumSize);
  return told && *told == sum;
}

}  // namespace

Result<void> TarReader::Fill(char* to, std::size_t size) {
  while (size > 0) {
    TIDEMILL_TRY(const std::size_t got, from_(to, size));
    if (got == 0) return Fail(Code::kInvalid, "the archive ends too early");
    to += got;
    size -= got;
  }
  return {};
}

// False: the archive's end.
Result<bool> TarReader::ReadBlock(char* block) {
  TIDEMILL_TRY_VOID(Fill(block, kBlock));
  if (std::any_of(block, block + kBlock, [](char c) { return c != 0; })) return true;
  return false;
}

Result<std::string> TarReader::ReadExtra(std::int64_t size) {
  if (size > kExtraBytes) return Fail(Code::kInvalid, "a name in the archive is too long");
  std::string text(static_cast<std::size_t>(size + PaddingOf(size)), '\0');
  TIDEMILL_TRY_VOID(Fill(text.data(), text.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// Lines of "LENGTH NAME=VALUE\n".
Result<void> TarReader::ReadPax(std::string_view records, Extra& extra) {
  const auto wrong = [] { return Fail(Code::kInvalid, "the archive's pax records are wrong"); };
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [at, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const std::size_t digits = static_cast<std::size_t>(at - records.data());
    if (error != std::errc{} || length > records.size() || length < digits + 3) return wrong();
    if (*at != ' ' || records[length - 1] != '\n') return wrong();
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const std::size_t sign = record.find('=');
    if (sign == std::string_view::npos) return wrong();
    const std::string_view name = record.substr(0, sign);
    const std::string_view value = record.substr(sign + 1);
    if (name.starts_with("GNU.sparse")) {
      return Fail(Code::kInvalid, "the archive has sparse files, which are not unpacked");
    }
    if (name == "path") extra.name = value;
    if (name == "linkpath") extra.target = value;
    if (name == "size") {
      std::int64_t size = 0;
      const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (bad != std::errc{} || end != value.data() + value.size() || size < 0) return wrong();
      extra.size = size;
    }
    records.remove_prefix(length);
  }
  return {};
}

Result<TarEntry> TarReader::EntryOf(std::string_view block, const Extra& extra) {
  TarEntry entry;
  entry.name = FieldOf(block, 0, 100);
  entry.target = FieldOf(block, 157, 100);
  const std::string_view prefix = FieldOf(block, 345, 155);
  // GNU's own kind has other things in the prefix's place.
  if (block.substr(257, 6) == std::string_view("ustar\0", 6) && !prefix.empty()) {
    entry.name = std::string(prefix) + "/" + entry.name;
  }
  if (!extra.name.empty()) entry.name = extra.name;
  if (!extra.target.empty()) entry.target = extra.target;
  TIDEMILL_TRY(entry.size_bytes, NumberOf(block, 124, 12));
  if (extra.size) entry.size_bytes = *extra.size;
  TIDEMILL_TRY(const std::int64_t mode, NumberOf(block, 100, 8));
  entry.executable = (mode & 0111) != 0;
  switch (block[156]) {
    case '\0':
    case '0':
      // Old archives have no other mark of a folder.
      entry.kind = entry.name.ends_with('/') ? TarEntry::Kind::kFolder : TarEntry::Kind::kFile;
      break;
    case '1':
      entry.kind = TarEntry::Kind::kHardLink;
      break;
    case '2':
      entry.kind = TarEntry::Kind::kLink;
      break;
    case '5':
      entry.kind = TarEntry::Kind::kFolder;
      break;
    default:
      return Fail(Code::kInvalid, "'" + entry.name + "' is neither a file nor a folder nor a link");
  }
  if (entry.kind != TarEntry::Kind::kFile && entry.size_bytes != 0) {
    return Fail(Code::kInvalid, "'" + entry.name + "' is no file, but has bytes");
  }
  return entry;
}

Result<std::optional<TarEntry>> TarReader::Next() {
  std::array<char, 16 << 10> skipped;
  while (left_ > 0) TIDEMILL_TRY_VOID(Read(skipped.data(), skipped.size()));
  TIDEMILL_TRY_VOID(Fill(skipped.data(), static_cast<std::size_t>(std::exchange(padding_, 0))));
  Extra extra;
  // What stands before an entry: a name and a target, in one form each; more is a trick.
  for (int extras = 0; extras <= 4; ++extras) {
    std::array<char, kBlock> held;
    TIDEMILL_TRY(const bool more, ReadBlock(held.data()));
    if (!more) return std::optional<TarEntry>();
    const std::string_view block(held.data(), held.size());
    if (!HasGoodSum(block)) return Fail(Code::kInvalid, "this is no tar archive");
    const char kind = block[156];
    if (kind != 'x' && kind != 'g' && kind != 'L' && kind != 'K') {
      TIDEMILL_TRY(TarEntry entry, EntryOf(block, extra));
      left_ = entry.size_bytes;
      padding_ = PaddingOf(left_);
      return std::optional(std::move(entry));
    }
    TIDEMILL_TRY(const std::int64_t size, NumberOf(block, 124, 12));
    TIDEMILL_TRY(std::string text, ReadExtra(size));
    // Of all entries that follow; what it could say of names is no use to anybody honest.
    Extra global;
    if (kind == 'x') TIDEMILL_TRY_VOID(ReadPax(text, extra));
    if (kind == 'g') TIDEMILL_TRY_VOID(ReadPax(text, global));
    if (kind == 'L') extra.name = text.substr(0, text.find('\0'));
    if (kind == 'K') extra.target = text.substr(0, text.find('\0'));
  }
  return Fail(Code::kInvalid, "an entry of the archive has too many records before it");
}

Result<std::size_t> TarReader::Read(char* to, std::size_t size) {
  const auto want = static_cast<std::size_t>(std::min<std::int64_t>(
      left_, static_cast<std::int64_t>(std::min<std::size_t>(size, 1 << 30))));
  if (want == 0) return 0;
  TIDEMILL_TRY(const std::size_t got, from_(to, want));
  if (got == 0) return Fail(Code::kInvalid, "the archive ends too early");
  left_ -= static_cast<std::int64_t>(got);
  return got;
}

}  // namespace tidemill
