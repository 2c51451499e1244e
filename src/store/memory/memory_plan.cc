// SPDX-License-Identifier: Apache-2.0
// Who leads, the plan that is in force, and money.
#include <algorithm>

#include "base/planted.h"
#include "store/memory/memory_store.h"
#include "store/rules.h"

namespace tidemill {

// --- who leads ---

Result<std::optional<std::int64_t>> MemoryStore::Lead(const std::string& holder, Duration life) {
  const std::lock_guard lock(mutex_);
  if (leader_.holder != holder) {
    if (leader_.until > Now()) return std::nullopt;
    leader_.holder = holder;
    ++leader_.epoch;
  }
  leader_.until = Now() + life;
  return leader_.epoch;
}

Result<void> MemoryStore::StepDown(const std::string& holder) {
  const std::lock_guard lock(mutex_);
  if (leader_.holder != holder) return {};
  leader_.holder.clear();
  leader_.until = {};
  return {};
}

// --- plans ---

Result<void> MemoryStore::WritePlans(std::int64_t epoch, const std::map<std::string, Plan>& plans) {
  const std::lock_guard lock(mutex_);
  if (leader_.epoch != epoch && !Planted(Plant::kAnyEpoch)) return NotTheLeader();
  if (plans_ == plans) return {};
  plans_ = plans;
  ++leader_.plan_seq;
  return {};
}

Result<PlanInForce> MemoryStore::ReadPlan() {
  const std::lock_guard lock(mutex_);
  PlanInForce plan{leader_.plan_seq, plans_, {}};
  for (const auto& [id, holding] : leases_.sessions()) {
    const Session& session = sessions_.At(id).session;
    plan.uses.push_back({id, session.project, session.pool, session.shape, holding.owed});
  }
  return plan;
}

Result<void> MemoryStore::EndAfter(JobId job, JobId other, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  ++change_;
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !found->second.after_met.insert(other).second) return {};
  Job& ended = found->second.job;
  if (reason.empty() || ended.state != JobState::kActive) return {};
  Enter(found->second, JobState::kPaused);
  ended.reason = reason;
  return {};
}

// --- money ---

Result<void> MemoryStore::PutDown(const std::vector<PutDownMachine>& machines) {
  const std::lock_guard lock(mutex_);
  for (const PutDownMachine& machine : machines) {
    const auto found = machine_rows_.find(machine.key);
    if (found == machine_rows_.end()) continue;
    if (found->second.put_down_until != machine.from && !Planted(Plant::kPutDownTwice)) continue;
    found->second.put_down_until = machine.until;
    for (const Entry& entry : machine.entries) {
      const bool of_job = entry.account == Account::kJob || entry.account == Account::kLost;
      const JobId job = of_job ? entry.job : JobId{};
      Entry& sum = spend_[{job, of_job ? "" : machine.key.project, entry.account}];
      sum.account = entry.account;
      sum.job = job;
      sum.time += entry.time;
      sum.amount += entry.amount;
    }
  }
  return {};
}

Result<void> MemoryStore::SetLost(JobId job, Duration time, Money amount) {
  const std::lock_guard lock(mutex_);
  const auto found = spend_.find({job, "", Account::kJob});
  if (found == spend_.end()) return {};
  Entry& worked = found->second;
  const auto known = spend_.find({job, "", Account::kLost});
  const Entry before = known == spend_.end() ? Entry{} : known->second;
  const Duration more = std::clamp(time - before.time, Duration(0), worked.time);
  const Money dollars = std::clamp(amount - before.amount, Money{}, worked.amount);
  if (more == Duration(0) && dollars == Money{}) return {};
  worked.time -= more;
  worked.amount = worked.amount - dollars;
  spend_[{job, "", Account::kLost}] = {Account::kLost, job, before.time + more,
                                       before.amount + dollars};
  return {};
}

Result<std::vector<JobMoney>> MemoryStore::ReadMoney(const std::vector<JobId>& jobs) {
  const std::lock_guard lock(mutex_);
  std::vector<JobMoney> list;
  for (const JobId job : jobs) {
    JobMoney& money = list.emplace_back();
    money.job = job;
    for (const Account account : {Account::kJob, Account::kLost}) {
      const auto found = spend_.find({job, "", account});
      if (found != spend_.end()) money.entries.push_back(found->second);
    }
  }
  return list;
}

Result<std::vector<Entry>> MemoryStore::ReadOverhead(const std::string& project) {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  for (const Account account : {Account::kIdle, Account::kBoot}) {
    const auto found = spend_.find({JobId{}, project, account});
    if (found != spend_.end()) entries.push_back(found->second);
  }
  return entries;
}

Result<void> MemoryStore::HearTimes(const std::string& server,
                                    const std::vector<HeardTimes>& times) {
  const std::lock_guard lock(mutex_);
  for (const HeardTimes& heard : times) {
    if (jobs_.contains(heard.job)) times_[{heard.job, server}] = heard;
  }
  return {};
}

}  // namespace tidemill
