// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/plan_store.h"

namespace tidemill {

// What people ask of a plan store, as the test has set it; nobody leads here.
class HandPlans : public PlanStore {
 public:
  Result<Snapshots> ReadSnapshots() override {
    ++reads;
    if (away) return Fail(Code::kUnavailable, "away");
    return snapshots;
  }
  Result<void> ForgiveNeverJoined(const std::string& project, const std::string& pool) override {
    forgiven.emplace_back(project, pool);
    return {};
  }
  Result<std::vector<JobMoney>> ReadMoney(const std::vector<JobId>& jobs) override {
    std::vector<JobMoney> found;
    for (const JobMoney& one : money) {
      for (const JobId& job : jobs) {
        if (job == one.job) found.push_back(one);
      }
    }
    return found;
  }
  Result<std::vector<Entry>> ReadOverhead(const std::string& project) override {
    return overhead[project];
  }

  Result<std::optional<std::int64_t>> Lead(const std::string&, Duration) override {
    return std::nullopt;
  }
  Result<void> StepDown(const std::string&) override { return {}; }
  Result<std::optional<std::string>> FindMachineById(const std::string&, const std::string&,
                                                     const std::string&) override {
    return std::nullopt;
  }
  Result<void> SeeMachines(const ProviderLook&) override { return {}; }
  Result<void> WritePlans(std::int64_t, const std::map<std::string, Plan>&) override {
    return Fail(Code::kConflict, "another leads");
  }
  Result<PlanInForce> ReadPlan() override { return PlanInForce{}; }
  Result<std::vector<MachineKey>> OrderMachines(const std::string&, const std::string&,
                                                std::int64_t, std::int64_t, Money) override {
    return std::vector<MachineKey>();
  }
  Result<void> DrainMachine(const MachineKey&) override { return {}; }
  Result<bool> EndMachine(const MachineKey&, MachineState) override { return false; }
  Result<void> DropOrder(const MachineKey&) override { return {}; }
  Result<void> SetProviderWord(const std::string&, const std::string&,
                               const ProviderWord&) override {
    return {};
  }
  Result<void> EndAfter(JobId, JobId, const std::string&) override { return {}; }
  Result<void> PutDown(const std::vector<PutDownMachine>&) override { return {}; }
  Result<void> SetLost(JobId, Duration, Money) override { return {}; }
  Result<void> HearTimes(const std::string&, const std::vector<HeardTimes>&) override { return {}; }

  Snapshots snapshots;
  std::vector<JobMoney> money;
  std::map<std::string, std::vector<Entry>> overhead;
  bool away = false;
  int reads = 0;
  std::vector<std::pair<std::string, std::string>> forgiven;
};

}  // namespace tidemill
