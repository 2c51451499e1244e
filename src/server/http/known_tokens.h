// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/loop.h"
#include "model/token.h"

namespace tidemill {

// What was last found out about tokens, as hashes. It decides what a caller costs, never what it
// may do: the store is asked about that each time. Loop thread only.
class KnownTokens {
 public:
  bool IsGood(std::string_view secret) const { return good_.contains(HashToken(secret)); }
  void NoteGood(std::string_view secret) {
    if (good_.size() >= kMostGood) good_.clear();
    good_.insert(HashToken(secret));
  }

  // It was looked up a moment ago and is nobody's.
  bool IsWrong(std::string_view secret, TimePoint now) const {
    const auto found = wrong_.find(HashToken(secret));
    return found != wrong_.end() && now < found->second;
  }
  void NoteWrong(std::string_view secret, TimePoint now) {
    const std::string hash = HashToken(secret);
    good_.erase(hash);
    if (wrong_.size() >= kMostWrong) wrong_.clear();
    wrong_[hash] = now + kWrongTime;
  }

 private:
  // More than one server's agents and people have. If there are more, all begin anew.
  static constexpr std::size_t kMostGood = 100'000;
  static constexpr std::size_t kMostWrong = 10'000;
  // A token that has just been made is good on every server after this at the latest.
  static constexpr std::chrono::seconds kWrongTime{5};

  std::unordered_set<std::string> good_;
  std::unordered_map<std::string, TimePoint> wrong_;
};

}  // namespace tidemill
