// SPDX-License-Identifier: Apache-2.0
#include "lease/expiry.h"

#include <cstdlib>

namespace tidemill {
namespace {

using std::chrono::seconds;

// The store is asked five times a second: a longer silence means that agents were not heard either.
constexpr Duration kLongestSilence = seconds(15);
// Two clocks that count the same time differ by less.
constexpr Duration kLargestDrift = seconds(5);

}  // namespace

ExpiryGuard::ExpiryGuard(TimePoint now, Duration session_life)
    : session_life_(session_life), not_before_(now + session_life), last_heard_(now) {}

void ExpiryGuard::Heard(TimePoint now, std::int64_t clock_us) {
  const Duration silence = now - last_heard_;
  const bool jumped = last_clock_us_ && std::abs(clock_us - *last_clock_us_ - silence.count()) >
                                            kLargestDrift.count();
  if (silence > kLongestSilence || jumped) not_before_ = now + session_life_;
  last_heard_ = now;
  last_clock_us_ = clock_us;
}

bool ExpiryGuard::MayReap(TimePoint now) const {
  return now >= not_before_ && now - last_heard_ <= kLongestSilence;
}

}  // namespace tidemill
