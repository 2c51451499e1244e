// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/virtual_loop.h"
#include "load/agent.h"
#include "server/server.h"
#include "sim/bucket.h"
#include "sim/cloud.h"
#include "sim/faulty_plans.h"
#include "sim/faulty_provider.h"
#include "sim/faulty_store.h"
#include "sim/fleet_checker.h"
#include "sim/items.h"
#include "sim/machine.h"
#include "sim/network.h"
#include "sim/node.h"
#include "sim/outcome.h"
#include "sim/pausable_loop.h"
#include "sim/plan.h"
#include "sim/store_checker.h"
#include "store/memory/memory_store.h"

namespace tidemill {

// One run: servers, a store, a cloud and agents in one process, on a virtual clock. First there are
// faults, and after every call of the store nothing may be lost or doubled; then the faults end,
// all jobs must, and all machines go.
class World {
 public:
  explicit World(const SimPlan& plan);
  ~World();
  SimOutcome Run();
  const LoadTotals& totals() const { return totals_; }

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
    PausableLoop loop;
    SeededRandom random;
    VirtualWorker worker;
    FaultyProvider provider;
    Server server;
    int paused_seconds = 0;
  };
  struct UpAgent {
    UpAgent(World& world, const Script& script, int number);
    SeededRandom random;
    PlayedAgent agent;
  };
  // A machine that nobody bills for.
  struct Standing {
    std::unique_ptr<SimMachine> machine;
    int lives = 0;
  };

  void MakePools();
  void StartServer(std::size_t place);
  Server* PickServer();
  Node& NodeOf(const std::string& machine);
  void StartAgents(const Script& script, int count);
  void StartStanding(std::size_t place);
  void Insist(std::function<bool()> call);

  // --- what people do: world_jobs.cc ---
  void Submit(const PlannedJob& planned, std::size_t number);
  NewJob JobOf(const PlannedJob& planned, std::size_t number) const;
  void Meddle();
  void ResumePaused();
  void CancelPoor();
  bool AllOver();

  void EverySecond();
  void BreakServers();
  void Heal();
  void RunUntil(TimePoint end);

  // --- what must be so of items, most of it at the end: world_ends.cc ---
  void CheckKills(JobId job, std::int64_t kills);
  void CheckEnds();
  void CheckEnd(const JobDump& dump);
  void CheckItem(const JobDump& dump, std::int64_t item, bool has_failed, const ItemTry& tried);

  void Breach(SimVerdict verdict, const std::string& id, const std::string& what);
  OnBreach MakeBreach();
  std::int64_t ClockUs() const;

  const SimPlan plan_;
  Faults faults_;  // those of the plan, then none
  SeededRandom order_random_;
  SeededRandom fault_random_;
  FaultDice fault_dice_;
  SeededRandom network_random_;
  FaultDice network_dice_;
  SeededRandom cloud_random_;
  FaultDice cloud_dice_;
  SeededRandom object_random_;
  FaultDice object_dice_;
  SeededRandom person_random_;
  FaultDice person_dice_;
  VirtualLoop loop_;
  MemoryStore store_;
  WorldLog log_;
  PlannedItems items_;
  StoreChecker checker_;
  StoreGate gate_;
  FaultyStore faulty_;
  FaultyPlans plans_;
  Network network_;
  Nodes nodes_;
  SimBucket bucket_;
  SimCloud cloud_;
  FleetChecker fleet_checker_;
  VirtualLink played_link_;
  LoadTotals totals_;
  Gossip gossip_;
  std::vector<std::unique_ptr<UpServer>> servers_;
  std::vector<std::unique_ptr<UpAgent>> agents_;
  std::vector<Standing> standing_;
  std::vector<JobId> jobs_;
  std::map<JobId, std::size_t> planned_;  // which of the plan's jobs it is
  std::size_t submitted_ = 0;
  std::uint64_t starts_ = 0;
  std::int64_t seconds_ = 0;
  bool chaos_ = true;
  SimOutcome outcome_;
};

// Two runs of one plan are equal, step by step.
SimOutcome Play(const SimPlan& plan);

}  // namespace tidemill
