// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <array>

#include <zstd.h>

#include "base/check.h"

namespace tidemill {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> kDigits = [] {
  std::array<std::int8_t, 256> digits{};
  digits.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  }
  return digits;
}();

}  // namespace

void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void PutSigned(std::string& out, std::int64_t value) {
  PutVarint(out, static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
}

std::uint64_t ByteReader::Varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  ok_ = false;
  rest_ = {};
  return 0;
}

std::int64_t ByteReader::Signed() {
  const std::uint64_t value = Varint();
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

std::string_view ByteReader::Take(std::uint64_t size) {
  if (size > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    text.push_back(kAlphabet[group >> 18]);
    text.push_back(kAlphabet[group >> 12 & 63]);
    text.push_back(i + 1 < bytes.size() ? kAlphabet[group >> 6 & 63] : '=');
    text.push_back(i + 2 < bytes.size() ? kAlphabet[group & 63] : '=');
  }
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  text.remove_suffix(padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  int held = 0;
  for (const char c : text) {
    const int digit = kDigits[static_cast<unsigned char>(c)];
    if (digit < 0) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes.push_back(static_cast<char>(group >> held & 0xff));
    }
  }
  // What is left over must be zero, or two texts would mean the same bytes.
  if ((group & ((1u << held) - 1)) != 0) return std::nullopt;
  return bytes;
}

std::string Compress(std::string_view bytes, int level) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), level);
  TIDEMILL_CHECK(!ZSTD_isError(size));
  frame.resize(size);
  frame.shrink_to_fit();
  return frame;
}

Result<std::string> Decompress(std::string_view frame, std::size_t limit) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return Fail(Code::kInvalid, "not a zstd frame with its size");
  }
  if (size > limit) return Fail(Code::kInvalid, "unpacks to more than is allowed");
  std::string bytes(size, '\0');
  const std::size_t got = ZSTD_decompress(bytes.data(), bytes.size(), frame.data(), frame.size());
  if (ZSTD_isError(got) || got != size) return Fail(Code::kInvalid, "a broken zstd frame");
  return bytes;
}

}  // namespace tidemill
