// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemill {

// Why an attempt ended. The numbers are in blocks that outlive every server: never use one again.
enum class Cause : std::uint8_t {
  kSucceeded = 0,
  kFailed = 1,   // its own exit code or signal
  kLost = 2,     // with too many machines; written by the server
  kTimeout = 3,  // it ran longer than its spec allows
};
inline constexpr int kCauses = 4;

std::string_view CauseName(Cause cause);
std::optional<Cause> ParseCause(std::string_view name);

// What became of one attempt at an item.
struct Outcome {
  std::int64_t item = 0;     // its number in the job
  std::int32_t round = 0;    // of its lease; the server's word, agents leave it 0
  std::int32_t attempt = 1;  // in its round
  Cause cause = Cause::kSucceeded;
  std::int32_t exit = 0;      // the exit code, or 128 + signal
  std::int64_t start_ms = 0;  // the machine's clock, since 1970: for people, decides nothing
  std::int64_t duration_ms = 0;
  std::int64_t cpu_ms = 0;
  std::int64_t memory_bytes = 0;  // the peak
  std::string machine;
  bool operator==(const Outcome&) const = default;
};

}  // namespace tidemill
