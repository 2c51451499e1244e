// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "base/loop.h"

namespace tidemill {

// What the server has answered for in this life of the watcher, so that a bucket in which nothing
// happens costs its listing and no more. What is missing here is said once more, which does no
// harm. Pure. Nothing survives a restart.
class Said {
 public:
  // Digests of 16 bytes, some 60 bytes each with what holds them: 240 MB. The rest of a larger
  // bucket is said with each listing.
  static constexpr std::size_t kMost = 4'000'000;

  explicit Said(std::size_t most = kMost) : most_(most) {}

  bool Has(std::string_view once) const;
  void Add(std::string_view once);
  void Clear() { digests_.clear(); }
  std::size_t size() const { return digests_.size(); }

 private:
  using Digest = std::array<char, 16>;
  struct Hash {
    std::size_t operator()(const Digest& digest) const;
  };
  static Digest DigestOf(std::string_view once);

  const std::size_t most_;
  std::unordered_set<Digest, Hash> digests_;
};

// When a bucket is listed. Pure.
class ListingTimes {
 public:
  // The server forgets what it has not heard of for 15 days; all is said again long before.
  static constexpr Duration kSayAllEvery = std::chrono::hours(20);
  static constexpr Duration kFirstWait = std::chrono::seconds(5);

  ListingTimes(TimePoint now, Duration every) : every_(every), next_(now), said_all_(now) {}

  TimePoint next() const { return next_; }
  // A listing begins. True: all of it is to be said again.
  bool Begin(TimePoint now);
  // It was whole: the next one begins `every` after it began, or now if it took longer.
  void End(TimePoint now);
  // It broke off: the next one begins after a wait that grows, up to `every`.
  void Break(TimePoint now);

 private:
  const Duration every_;
  TimePoint next_;
  TimePoint said_all_;
  TimePoint began_{};
  Duration wait_ = kFirstWait;
};

}  // namespace tidemill
