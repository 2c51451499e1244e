// SPDX-License-Identifier: Apache-2.0
#include "server/rates.h"

#include <algorithm>
#include <chrono>

namespace tidemill {

double Rates::Bucket::LevelAt(TimePoint now) const {
  const double seconds = std::chrono::duration<double>(now - at).count();
  return std::min(rate.burst, level + std::max(seconds, 0.0) * rate.per_second);
}

bool Rates::Has(const std::string& name, const Rate& rate, TimePoint now) const {
  const auto found = buckets_.find(name);
  return found == buckets_.end() ? rate.burst >= 1 : found->second.LevelAt(now) >= 1;
}

bool Rates::Take(const std::string& name, const Rate& rate, TimePoint now) {
  if (buckets_.size() >= kMostBuckets) ForgetFull(now);
  Bucket& bucket = buckets_.try_emplace(name, Bucket{rate.burst, now, rate}).first->second;
  bucket.rate = rate;
  bucket.level = bucket.LevelAt(now);
  bucket.at = now;
  if (bucket.level < 1) return false;
  bucket.level -= 1;
  return true;
}

// If all are in use even so, everybody begins anew: better than to grow without end.
void Rates::ForgetFull(TimePoint now) {
  std::erase_if(buckets_, [now](const auto& entry) {
    return entry.second.LevelAt(now) >= entry.second.rate.burst;
  });
  if (buckets_.size() >= kMostBuckets) buckets_.clear();
}

}  // namespace tidemill
