// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

namespace tidemill::init {

inline std::int64_t ClockUs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
}

inline std::int64_t NowUs() { return ClockUs(CLOCK_MONOTONIC); }

inline constexpr std::int64_t kNever = INT64_MAX;

inline std::int64_t After(std::int64_t now_us, std::int64_t wait_us) {
  return wait_us > kNever - now_us ? kNever : now_us + wait_us;
}

// Since 1970.
inline std::int64_t WallMs() {
  const std::int64_t ms = ClockUs(CLOCK_REALTIME) / 1'000;
  return ms < 0 ? 0 : ms;
}

}  // namespace tidemill::init
