// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/loop.h"

namespace tidemill {

// How often somebody may do something: a bucket for each, which fills by so much a second and holds
// a few seconds' worth. Loop thread only.
class Rates {
 public:
  struct Rate {
    double per_second = 1;
    double burst = 1;
  };

  // Whether the bucket of this name has something; takes it if so.
  bool Take(const std::string& name, const Rate& rate, TimePoint now);
  // The same without taking.
  bool Has(const std::string& name, const Rate& rate, TimePoint now) const;
  std::size_t size() const { return buckets_.size(); }

 private:
  // More names than callers have; those that are full again are as if they never were.
  static constexpr std::size_t kMostBuckets = 10'000;
  struct Bucket {
    double level = 0;
    TimePoint at = {};
    Rate rate = {};
    double LevelAt(TimePoint now) const;
  };
  void ForgetFull(TimePoint now);

  std::map<std::string, Bucket> buckets_;
};

}  // namespace tidemill
