// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/id.h"

namespace tidemill {

// Random numbers as a value that is passed in: a seed makes a run, and no run shares another's
// numbers. Not for secrets; the ids that fence leases come from SystemRandom in a real process.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t Next() = 0;

  // Uniform in [0, bound); the bound is not 0.
  std::uint64_t Below(std::uint64_t bound);
  // True once in 1/p calls on average.
  bool Chance(double p);
  // Uniform in [0, 1).
  double Unit();

  template <typename IdType>
  IdType NewId() {
    const std::uint64_t high = Next();
    return IdType{high, Next()};
  }
};

// The same seed and stream give the same numbers on every machine. Named streams keep a change of
// one part of a run from shifting the numbers of all others.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed, std::string_view stream = "");
  std::uint64_t Next() override;

 private:
  std::uint64_t state_;
};

// The kernel's random numbers. Any thread.
class SystemRandom : public Random {
 public:
  std::uint64_t Next() override;
};

}  // namespace tidemill
