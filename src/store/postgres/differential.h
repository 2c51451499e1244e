// SPDX-License-Identifier: Apache-2.0
#pragma once
// For differential_test.cc: how long its worlds are, what it has come to, and answers as they are
// compared.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "model/job.h"
#include "store/rows.h"

namespace tidemill {

// Both have one clock, so that nothing may differ.
inline std::pair<Job, Counts> Plain(const JobCounts& counts) { return {counts.job, counts.counts}; }
inline std::vector<std::pair<Job, Counts>> Plain(const std::vector<JobCounts>& all) {
  std::vector<std::pair<Job, Counts>> plain;
  for (const JobCounts& counts : all) plain.push_back(Plain(counts));
  return plain;
}
inline auto Plain(const ChangeMark& mark) {
  return std::tuple(mark.seq, mark.clock_us, mark.streams);
}
// Few ids, so that some come again.
inline NewStream AnyStream(SeededRandom& random, JobId job) {
  const std::uint64_t number = random.Below(100);
  return {.id = {1, number},
          .job = job,
          .item = static_cast<std::int64_t>(random.Below(40)),
          .ask = std::to_string(number),
          .life = std::chrono::seconds(random.Below(100))};
}
template <typename T>
const T& Plain(const T& value) {
  return value;
}

// Not the Result itself: most callers need nothing more of it.
template <typename T>
auto ValueOf(Result<T> result) {
  if constexpr (std::is_void_v<T>) {
    return result.has_value();
  } else {
    return result ? std::optional<T>(*std::move(result)) : std::nullopt;
  }
}

// How often the runs came to what is rare.
struct DifferentialSeen {
  std::int64_t calls = 0, outcomes = 0, refused = 0, given_again = 0, revoked = 0, lost = 0,
               lost_limit = 0, finished = 0, cancelled = 0, reopened = 0, rolled = 0, dropped = 0,
               troubles = 0, retried = 0, larger = 0, rested = 0, blamed = 0, worn = 0, arrived = 0,
               known = 0, forgotten = 0, packed = 0;
};

struct WorldSize {
  std::int64_t calls = 0;
  int jobs = 0;
  std::size_t sessions = 0;  // that live, at least
  std::int64_t whole_every = 1;
};
// Compared are, after each call, the jobs that it named and those of the chunks that the memory
// store has touched, and the whole state every so many calls: to read all of it each time would
// take most of the time. What only PostgreSQL has changed is so found a little later.
inline constexpr WorldSize kShortWorlds{.calls = 250, .jobs = 6, .sessions = 8, .whole_every = 25};
// Worlds that grow old.
inline constexpr WorldSize kLongWorlds{
    .calls = 5000, .jobs = 40, .sessions = 16, .whole_every = 50};

}  // namespace tidemill
