// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/deps.h"
#include "server/fleet.h"
#include "server/leader_round.h"

namespace tidemill {

struct LeaderOptions {
  std::string name;  // of this server's life; no two are alike
  Duration every = std::chrono::seconds(1);
  // When there is nothing to do.
  Duration idle_every = std::chrono::seconds(2);
  // After something changed; changes that come together are one.
  Duration soon = std::chrono::milliseconds(100);
  Duration life = ServerLimits().leader_silence;
  Duration list_limit = ServerLimits().list_limit;
};

// Plans for all servers, if this is the one that leads. Every server tries; a row with an epoch
// says who does. Should two do it for a while, each still says only what may be said twice. Loop
// thread only.
class Leader {
 public:
  Leader(ServerDeps deps, LeaderOptions options);
  ~Leader();

  void Start() { Arm(Duration::zero()); }
  // Lets another lead at once, if it can be told.
  void Stop();
  // Something changed: the next round comes soon.
  void Soon();
  bool leads() const { return epoch_.has_value(); }

 private:
  void Arm(Duration delay);
  void Begin();
  void RunWith(ProviderLook look);
  void End(const Result<Round>& round);

  const ServerDeps deps_;
  const LeaderOptions options_;
  Fleet fleet_;
  std::optional<std::int64_t> epoch_;
  std::vector<PoolWork> pools_;  // of the last round
  std::map<JobId, TimePoint> runs_since_;
  bool running_ = false;
  bool again_ = false;  // something changed while it ran
  bool stopped_ = false;
  TimerId timer_ = TimerId::kNone;
  TimePoint armed_{};
};

}  // namespace tidemill
