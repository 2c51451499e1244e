// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "model/sync.h"
#include "server/deps.h"

namespace tidemill {

// How long the items of jobs ran, as this server has heard in its life. It tells the store what it
// knows, not what is new, so that it may be said twice. Loop thread only.
class HeardTimesBook {
 public:
  explicit HeardTimesBook(ServerDeps deps);
  ~HeardTimesBook();

  void Start() { Tell(); }
  void Stop();
  void Add(const Measured& measured);
  // The name of this server's life.
  const std::string& server() const { return server_; }

 private:
  void Tell();

  const ServerDeps deps_;
  const std::string server_;
  std::map<JobId, HeardTimes> heard_;
  std::set<JobId> news_;  // not told yet
  TimerId timer_ = TimerId::kNone;
  bool stopped_ = false;
};

}  // namespace tidemill
