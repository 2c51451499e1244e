// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "provider/fake_provider.h"
#include "sim/fault_dice.h"
#include "sim/faults.h"
#include "sim/item_play.h"
#include "sim/machine.h"

namespace tidemill {

// A provider whose machines are played: one that it makes comes up with a real agent, one that it
// ends, or takes away, is gone with it. Loop thread only.
class SimCloud {
 public:
  struct Place {
    Loop& loop;
    ServerLink& link;
  };
  struct Deps {
    Loop& loop;
    // Where a machine comes up; outlives it.
    std::function<Place(const std::string& machine)> place;
    Log& log;
    ItemPlay& items;
    FaultDice& dice;
    std::function<TimePoint()> clock;  // since 1970
    const CloudFaults& faults;
    const MachineFaults& machine_faults;
    SimBucket* bucket = nullptr;
    AgentLimits agent_limits = {};
  };
  SimCloud(Deps deps, std::uint64_t seed);

  FakeProvider& provider() { return provider_; }
  // How long machines of a pool take from their order to their agent's start.
  void SetBoot(const std::string& pool, Duration time);

  // Comes once a second: machines are taken away, and faults of agents happen.
  void EverySecond();
  // What the faults have left over is as it should be.
  void Heal();
  // The machine is taken away after so long, of which it is told if that is not 0.
  void Interrupt(const std::string& pool, const std::string& name, Duration notice);

  struct Up {
    std::string pool;
    std::string name;
    bool spot = false;
    bool leaving = false;  // it has been told
  };
  // Those with an agent, by pool and name.
  std::vector<Up> up() const;
  // So many of a pool's, whichever they are.
  std::vector<std::string> AnyOf(const std::string& pool, std::size_t count) const;
  std::int64_t interrupted() const { return interrupted_; }

 private:
  using Key = std::pair<std::string, std::string>;  // pool, name
  struct Running {
    Up up;
    PoolSettings pool;
    std::unique_ptr<SimMachine> machine;
  };
  void Start(const PoolSettings& pool, const MachineOrder& order);
  void Kill(const Key& key);
  void TakeSomeAway();
  void LoseCapacity();
  void LoseApi();
  bool Happens(double chance);

  const Deps deps_;
  const std::uint64_t seed_;
  FakeProvider provider_;
  std::map<Key, Running> running_;
  std::int64_t interrupted_ = 0;
  int dry_seconds_ = 0;     // for so long there is no capacity
  int outage_seconds_ = 0;  // for so long no call is carried out
};

}  // namespace tidemill
