// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemill {

// Why an attempt ended. The numbers are in blocks that outlive every server: never use one again.
enum class Cause : std::uint8_t {
  kSucceeded = 0,
  kFailed = 1,          // its own exit code or signal
  kLost = 2,            // with too many machines; written by the server
  kTimeout = 3,         // it ran longer than its spec allows
  kOutOfMemory = 4,     // the kernel killed it, or a process of it, at its memory limit
  kCancelled = 5,       // a person ended its job
  kInterrupted = 6,     // its machine was taken away or drained, with notice
  kMachineFault = 7,    // its machine could not run it: disk full, engine broken, container gone
  kImage = 8,           // its image cannot be had
  kRejectedOutput = 9,  // what it left behind is not what its spec promised
};
inline constexpr int kCauses = 10;

// What an attempt that ended so uses up.
enum class Budget : std::uint8_t {
  kNone,     // nothing: it was not the item's doing, or the item is done
  kRetries,  // one of the job's retries
  kMemory,   // a step of its memory, up to the most that the spec allows
};
Budget BudgetOf(Cause cause);

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
  std::string log = {};     // the name of the pack that has the end of its log; empty: none
  std::string error = {};   // what its last lines say, made alike for all that failed so
  std::string result = {};  // what its program sent back, as JSON
  // That it had, by kind: "nvidia.com/gpu=0,1 fpga=/dev/fpga1".
  std::string devices = {};
  bool operator==(const Outcome&) const = default;
};

inline constexpr std::size_t kLogNameBytes = 128;
inline constexpr std::size_t kErrorBytes = 256;
// More than a machine's sixteen devices of a kind need. What is more is left out.
inline constexpr std::size_t kOutcomeDevicesBytes = 256;
// A row in a table, not a file: what is larger is an output.
inline constexpr std::size_t kResultBytes = 4096;

}  // namespace tidemill
