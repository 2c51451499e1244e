// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "base/log.h"
#include "base/random.h"
#include "engine/fake/fake_engine.h"
#include "load/script.h"

namespace tidemill {

// What goes wrong on a simulated machine. The chances are of one time that it could.
struct MachineFaults {
  double lost_container = 0;  // ends under an item
  double engine_away = 0;     // an answer of the engine is 'try again later'
  double trouble = 0;         // a container is refused for good
  double crash = 0;           // of the agent, each second
};

// What an item needs of memory whenever it is run, from a MiB up to a GiB; half of them little.
std::int64_t MemoryOf(const Script& script, std::int64_t item);

// A machine with a real agent on an engine that is played. Its agent can crash and come back, with
// what it kept. Loop thread only.
class SimMachine {
 public:
  struct Deps {
    Loop& loop;
    ServerLink& link;
    Log& log;
    const MachineFaults& faults;
  };
  SimMachine(Deps deps, const Script& script, std::uint64_t seed, int number);

  // Comes once a second while there are faults.
  void EverySecond();
  // Runs again if it does not.
  void Heal();

 private:
  struct Memory : AgentMemory {
    void Keep(const SessionPass& kept) override { pass = kept; }
    SessionPass pass;
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
  FakeRun Play(const ItemRun& run);
  FakeEngine::Play MakePlay();

  const Deps deps_;
  const Script script_;
  SeededRandom random_;
  const std::string name_;
  Memory memory_;
  NoLogs logs_;
  int down_seconds_ = 0;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace tidemill
