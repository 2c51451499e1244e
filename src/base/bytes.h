// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemill {

// Integers of one to ten bytes, seven bits a byte, lowest first.
void PutVarint(std::string& out, std::uint64_t value);
// Small negative numbers stay small: 0, -1, 1, -2 ... become 0, 1, 2, 3 ...
void PutSigned(std::string& out, std::int64_t value);

// Reads what the functions above wrote. Once a read has failed, all that follow fail: check ok()
// once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t Varint();
  std::int64_t Signed();
  std::string_view Take(std::uint64_t size);
  bool ok() const { return ok_; }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// Standard alphabet, padded (RFC 4648, section 4).
std::string EncodeBase64(std::string_view bytes);
std::optional<std::string> DecodeBase64(std::string_view text);

// zstd frames that carry their size. Unpacking stops at `limit`: a small frame can claim to be
// huge.
std::string Compress(std::string_view bytes, int level = 3);
Result<std::string> Decompress(std::string_view frame, std::size_t limit);

}  // namespace tidemill
