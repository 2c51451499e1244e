// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/store_gate.h"
#include "store/plan_store.h"

namespace tidemill {

// What the leader reads and writes, and fails to.
class FaultyPlans : public PlanStore {
 public:
  FaultyPlans(PlanStore& plans, StoreGate& gate) : plans_(plans), gate_(gate) {}

  Result<std::optional<std::int64_t>> Lead(const std::string& holder, Duration life) override {
    return gate_.Call([&] { return plans_.Lead(holder, life); });
  }
  Result<void> StepDown(const std::string& holder) override {
    return gate_.Call([&] { return plans_.StepDown(holder); });
  }
  Result<std::optional<std::string>> FindMachineById(const std::string& project,
                                                     const std::string& pool,
                                                     const std::string& id) override {
    return gate_.Call([&] { return plans_.FindMachineById(project, pool, id); });
  }
  Result<void> SeeMachines(const ProviderLook& look) override {
    return gate_.Call([&] { return plans_.SeeMachines(look); });
  }
  Result<Snapshots> ReadSnapshots() override {
    return gate_.Call([&]() -> Result<Snapshots> {
      if (last_ && gate_.IsStale()) return *last_;
      Result<Snapshots> read = plans_.ReadSnapshots();
      if (read && ++reads_ % kKeepEvery == 0) last_ = *read;
      return read;
    });
  }
  Result<void> WritePlans(std::int64_t epoch, const std::map<std::string, Plan>& plans) override {
    return gate_.Call([&] { return plans_.WritePlans(epoch, plans); });
  }
  Result<PlanInForce> ReadPlan() override {
    return gate_.Call([&] { return plans_.ReadPlan(); });
  }
  Result<std::vector<MachineKey>> OrderMachines(const std::string& project, const std::string& pool,
                                                std::int64_t first, std::int64_t count,
                                                Money price) override {
    return gate_.Call([&] { return plans_.OrderMachines(project, pool, first, count, price); });
  }
  Result<void> DrainMachine(const MachineKey& key) override {
    return gate_.Call([&] { return plans_.DrainMachine(key); });
  }
  Result<bool> EndMachine(const MachineKey& key, MachineState seen) override {
    return gate_.Call([&] { return plans_.EndMachine(key, seen); });
  }
  Result<void> DropOrder(const MachineKey& key) override {
    return gate_.Call([&] { return plans_.DropOrder(key); });
  }
  Result<void> SetProviderWord(const std::string& project, const std::string& pool,
                               const ProviderWord& word) override {
    return gate_.Call([&] { return plans_.SetProviderWord(project, pool, word); });
  }
  Result<void> ForgiveNeverJoined(const std::string& project, const std::string& pool) override {
    return gate_.Call([&] { return plans_.ForgiveNeverJoined(project, pool); });
  }
  Result<void> EndAfter(JobId job, JobId other, const std::string& reason) override {
    return gate_.Call([&] { return plans_.EndAfter(job, other, reason); });
  }
  Result<void> PutDown(const std::vector<PutDownMachine>& machines) override {
    return gate_.Call([&] { return plans_.PutDown(machines); });
  }
  Result<void> SetLost(JobId job, Duration time, Money amount) override {
    return gate_.Call([&] { return plans_.SetLost(job, time, amount); });
  }
  Result<std::vector<JobMoney>> ReadMoney(const std::vector<JobId>& jobs) override {
    return gate_.Call([&] { return plans_.ReadMoney(jobs); });
  }
  Result<std::vector<Entry>> ReadOverhead(const std::string& project) override {
    return gate_.Call([&] { return plans_.ReadOverhead(project); });
  }
  Result<void> HearTimes(const std::string& server, const std::vector<HeardTimes>& times) override {
    return gate_.Call([&] { return plans_.HearTimes(server, times); });
  }

 private:
  // Rounds between those that are kept: a leader may stand still for some seconds.
  static constexpr int kKeepEvery = 5;

  PlanStore& plans_;
  StoreGate& gate_;
  std::optional<Snapshots> last_;  // of some rounds ago
  int reads_ = 0;
};

}  // namespace tidemill
