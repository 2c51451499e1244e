// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "base/loop.h"

namespace tidemill {

// Dollars, in millionths: sums of them are exact. What it is an hour of is said by the name.
struct Money {
  std::int64_t micros = 0;
  auto operator<=>(const Money&) const = default;
  Money& operator+=(Money other) {
    micros += other.micros;
    return *this;
  }
  Money& operator-=(Money other) {
    micros -= other.micros;
    return *this;
  }
  friend Money operator+(Money a, Money b) { return a += b; }
  friend Money operator-(Money a, Money b) { return a -= b; }
};

// a * b / c, rounded down, where the product may be longer than 64 bits. c is not 0.
inline std::int64_t MulDiv(std::int64_t a, std::int64_t b, std::int64_t c) {
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(a) * b / c);
}

// The same, rounded up; nothing is negative.
inline std::int64_t MulDivUp(std::int64_t a, std::int64_t b, std::int64_t c) {
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>((static_cast<Wide>(a) * b + c - 1) / c);
}

// What `time` costs at a price an hour, rounded down.
inline Money CostOf(Money an_hour, Duration time) {
  constexpr Duration kHour = std::chrono::hours(1);
  return {MulDiv(an_hour.micros, time.count(), kHour.count())};
}

}  // namespace tidemill
