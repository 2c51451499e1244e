// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "agent/deps.h"

namespace tidemill {

// Keeps the last words of each attempt that runs, on their way to its log: an error is known by
// them. What comes here is masked already. Loop thread only.
class Tails : public ItemLogs {
 public:
  explicit Tails(ItemLogs& logs) : logs_(logs) {}

  // From now on the last words of this attempt are kept, until they are taken.
  void Begin(const LogPlace& place) { tails_[KeyOf(place)].clear(); }
  // At most kTailBytes; empty if it has not begun.
  std::string Take(const LogPlace& place);
  void Clear() { tails_.clear(); }

  void Append(const LogPlace& place, std::string_view bytes) override;
  std::string Close(const LogPlace& place) override { return logs_.Close(place); }
  void UseSession(const std::string& session, bool is_new) override {
    logs_.UseSession(session, is_new);
  }
  void Resume(const LogPlace& place) override { logs_.Resume(place); }
  void StoreAt(JobId job, const std::string& url) override { logs_.StoreAt(job, url); }
  void Follow(const std::vector<JobId>& jobs) override { logs_.Follow(jobs); }
  void LimitAttempts(std::int64_t bytes) override { logs_.LimitAttempts(bytes); }

 private:
  using Key = std::tuple<JobId, std::int64_t, std::int32_t, std::int32_t>;
  static Key KeyOf(const LogPlace& place) {
    return {place.job, place.item, place.round, place.attempt};
  }

  ItemLogs& logs_;
  std::map<Key, std::string> tails_;  // no more than run at a time
};

}  // namespace tidemill
