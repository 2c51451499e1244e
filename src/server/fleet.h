// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "provider/provider.h"
#include "server/deps.h"
#include "server/leader_round.h"

namespace tidemill {

// Asks providers to do what a round wants, and what they have. A provider that is slow, or away,
// holds up nothing but its own pools. Loop thread only.
class Fleet {
 public:
  Fleet(ServerDeps deps, Duration list_limit) : deps_(deps), list_limit_(list_limit) {}

  // What the providers of these pools have, as far as they answer in time.
  void Look(const std::vector<PoolWork>& pools, std::function<void(ProviderLook)> done);
  // Makes and ends machines. A pool whose last order is still under way waits for it.
  void Carry(const std::vector<PoolWork>& pools);

 private:
  struct Looking;
  using PoolKey = std::pair<std::string, std::string>;  // project, pool

  Provider* Find(const PoolWork& work) const;
  void Make(const PoolWork& work);
  void End(const PoolWork& work);
  void Hear(const PoolWork& work, const Result<Refused>& refused);

  const ServerDeps deps_;
  const Duration list_limit_;
  std::set<PoolKey> making_;
  std::set<PoolKey> ending_;
};

}  // namespace tidemill
