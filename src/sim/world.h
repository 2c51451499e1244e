// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/virtual_loop.h"
#include "load/agent.h"
#include "server/server.h"
#include "sim/faulty_store.h"
#include "sim/machine.h"
#include "sim/network.h"
#include "sim/plan.h"
#include "store/memory/memory_store.h"

namespace tidemill {

enum class SimVerdict { kGood, kSafety, kLiveness };

struct SimOutcome {
  SimVerdict verdict = SimVerdict::kGood;
  std::string what;         // the first thing that was wrong
  std::uint64_t trace = 0;  // equal for equal runs
  std::uint64_t steps = 0;
  LoadTotals totals;
};

// One run: servers, a store and agents in one process, on a virtual clock. First there are faults,
// and after every call of the store nothing may be lost or doubled; then the faults end, and all
// jobs must.
class World {
 public:
  explicit World(const SimPlan& plan);
  ~World();
  SimOutcome Run();

 private:
  // Fails the run on an event that asks for a person.
  class WorldLog : public Log {
   public:
    explicit WorldLog(World& world) : world_(world) {}

   protected:
    void Write(std::string_view level, std::string_view event, Fields fields) override;

   private:
    World& world_;
  };
  struct UpServer {
    UpServer(World& world, std::uint64_t number);
    SeededRandom random;
    VirtualWorker worker;
    Server server;
  };
  struct UpAgent {
    UpAgent(World& world, const Script& script, int number);
    SeededRandom random;
    PlayedAgent agent;
  };

  void StartServer(std::size_t place);
  Server* PickServer();
  void StartAgents(const Script& script, int count);
  void ResumePaused();
  void Submit(const PlannedJob& planned, std::size_t number);
  void Meddle();
  void EverySecond();
  void Heal();
  bool AllOver();
  void RunUntil(TimePoint end);

  void CheckNow();
  void CheckNothingTakenBack(const StoreState& state);
  void CheckEnds();
  void CheckEnd(const JobDump& dump);
  void Breach(SimVerdict verdict, const std::string& what);
  // Calls again, a second later each time, until it succeeds.
  void Insist(std::function<bool()> call);
  std::int64_t ClockUs() const;

  const SimPlan plan_;
  SeededRandom order_random_;
  SeededRandom fault_random_;
  SeededRandom network_random_;
  SeededRandom person_random_;
  VirtualLoop loop_;
  MemoryStore store_;
  FaultyStore faulty_;
  WorldLog log_;
  NetworkFaults network_faults_;
  MachineFaults machine_faults_;
  VirtualLink link_;
  LoadTotals totals_;
  Gossip gossip_;
  std::vector<std::unique_ptr<UpServer>> servers_;
  std::vector<std::unique_ptr<UpAgent>> agents_;
  std::vector<std::unique_ptr<SimMachine>> machines_;
  std::map<ChunkKey, Chunk> last_seen_;
  std::vector<JobId> jobs_;
  std::size_t submitted_ = 0;
  std::uint64_t starts_ = 0;
  bool chaos_ = true;
  SimOutcome outcome_;
};

// The run of a seed. Two runs of one seed are equal, step by step.
SimOutcome Simulate(std::uint64_t seed);

}  // namespace tidemill
