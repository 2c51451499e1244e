// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "frame/frame.h"

// Numbers as bytes, and the header of a frame; for the files of this folder.
namespace tidemill::frame {

// With one empty string, and with a JSON of one byte.
inline constexpr std::size_t kRunBytesLeast = 8 + 8 + 4 + 4 + 4 + 1;
inline constexpr std::size_t kItemBytesLeast = 8 + 8 + 8 + 4 + 4 + 1;
// Of streams; an Open's is that of a port, and what stands before a program.
inline constexpr std::size_t kOpenBytes = 4 * 4;
inline constexpr std::size_t kResizeBytes = 2 * 4;
inline constexpr std::size_t kFlagBytes = 4;
inline constexpr std::size_t kOverBytes = 3 * 4;

template <typename T>
void Put(std::string& out, T value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> (8 * i))));
  }
}

// Takes a number from the front of `bytes`, which must hold it.
template <typename T>
T Take(std::string_view& bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(sizeof(T));
  return static_cast<T>(bits);
}

inline std::string Header(Kind kind, std::uint64_t number, std::size_t payload_bytes) {
  std::string out;
  out.reserve(kHeaderBytes + payload_bytes);
  Put(out, static_cast<std::uint32_t>(kind));  // and the three zeros
  Put(out, static_cast<std::uint32_t>(payload_bytes));
  Put(out, number);
  return out;
}

}  // namespace tidemill::frame
