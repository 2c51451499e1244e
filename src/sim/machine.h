// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/log.h"
#include "base/random.h"
#include "engine/fake/fake_engine.h"
#include "sim/bucket.h"
#include "sim/fault_dice.h"
#include "sim/faults.h"
#include "sim/item_play.h"

namespace tidemill {

// A machine with a real agent on an engine that is played. Its agent can crash and come back, with
// what it kept. Dropped, the machine is gone without a word. Loop thread only.
class SimMachine {
 public:
  struct Deps {
    Loop& loop;
    ServerLink& link;
    Log& log;
    ItemPlay& items;
    const MachineFaults& faults;
    const FaultDice& dice;  // its own has the numbers of its own stream
    // An item has killed it: whoever owns it drops it soon.
    std::function<void()> on_killed = [] {};
    SimBucket* bucket = nullptr;  // null: items leave nothing
  };
  struct Facts {
    std::string name;
    std::string join_token;
    Resources shape;
    std::uint64_t seed = 0;
    AgentLimits limits = {};
  };
  SimMachine(Deps deps, Facts facts);
  ~SimMachine();
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;

  // Comes once a second while there are faults.
  void EverySecond();
  // Runs again if it does not.
  void Heal();
  // It was told that it will be taken away: leaves in good order.
  void Leave();

 private:
  struct Memory : AgentMemory {
    void Keep(const SessionPass& kept) override;
    SessionPass pass;
    SessionPass before;  // what the disk has, if the last one had not reached it
    std::int32_t run = 0;
  };
  struct NoLogs : ItemLogs {
    void Append(const LogPlace&, std::string_view) override {}
    std::string Close(const LogPlace&) override { return {}; }
    void UseSession(const std::string&, bool) override {}
    void Resume(const LogPlace&) override {}
    void StoreAt(JobId, const std::string&) override {}
    void Follow(const std::vector<JobId>&) override {}
    void LimitAttempts(std::int64_t) override {}
  };

  void StartAgent();
  void Crash();
  FakeRun Play(const ItemRun& run);
  FakeEngine::Play MakePlay();

  const Deps deps_;
  const Facts facts_;
  SeededRandom random_;
  FaultDice dice_;
  Memory memory_;
  NoLogs logs_;
  std::shared_ptr<char> life_;  // of the agent and what it runs
  bool leaving_ = false;
  int down_seconds_ = 0;
  int full_seconds_ = 0;
  std::unique_ptr<SimData> data_;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace tidemill
