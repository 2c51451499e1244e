// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "base/result.h"

namespace tidemill {

// How long items take. A value.
class DurationSpread {
 public:
  enum class Kind : std::uint8_t {
    kFixed,        // first
    kUniform,      // from first to second
    kExponential,  // first is the mean
    kNormal,       // first is the mean, second the standard deviation
    kLognormal,    // first is the median, sigma the standard deviation of the logarithm
    kMeasured,     // as the buckets say
  };
  // So many took from `least` to `most`.
  struct Bucket {
    Duration least{};
    Duration most{};
    std::int64_t count = 0;
  };

  DurationSpread() = default;  // a second each

  // "60s", "fixed(60s)", "uniform(10s, 2m)", "exponential(60s)", "normal(60s, 10s)",
  // "lognormal(60s, 1)". kInvalid says what could be written instead.
  static Result<DurationSpread> Parse(std::string_view text);
  // As it was measured. kInvalid: nothing was.
  static Result<DurationSpread> Measured(std::vector<Bucket> buckets);

  // What the item takes, whenever it is run: no other item and no earlier call matters. At least a
  // millisecond.
  Duration Draw(std::uint64_t seed, std::int64_t item) const;
  Kind kind() const { return kind_; }

 private:
  double DrawUs(Random& random) const;
  double DrawBucket(Random& random) const;

  Kind kind_ = Kind::kFixed;
  Duration first_ = std::chrono::seconds(1);
  Duration second_{};
  double sigma_ = 0;
  std::vector<Bucket> buckets_;
  std::int64_t count_ = 0;  // of all buckets
};

}  // namespace tidemill
