// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/deps.h"

namespace tidemill {

// What items write goes on to a file descriptor, as it comes: for a person who looks on. Whoever
// reads slowly holds up the loop, which has nothing else to do then. Loop thread only.
class PrintedLogs : public ItemLogs {
 public:
  explicit PrintedLogs(int fd) : fd_(fd) {}

  void UseSession(const std::string&, bool) override {}
  void Resume(const LogPlace&) override {}
  void StoreAt(JobId, const std::string&) override {}
  void Append(const LogPlace& place, std::string_view bytes) override;
  std::string Close(const LogPlace&) override { return {}; }
  void LimitAttempts(std::int64_t) override {}
  void Follow(const std::vector<JobId>&) override {}

 private:
  const int fd_;
  bool is_gone_ = false;  // nobody reads any more
};

}  // namespace tidemill
