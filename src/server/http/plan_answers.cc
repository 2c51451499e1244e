// SPDX-License-Identifier: Apache-2.0
#include "server/http/plan_answers.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "plan/forecast.h"
#include "plan/why.h"

namespace tidemill {
namespace {

// Those that a person looks through.
constexpr std::size_t kDearest = 50;

constexpr std::array<std::string_view, 5> kStates = {"ordered", "booting", "joined", "draining",
                                                     "gone"};

std::string_view StateName(MachineState state) { return kStates[static_cast<std::size_t>(state)]; }

// As of why's codes, where there is one.
std::string_view HoldName(Hold hold) {
  switch (hold) {
    case Hold::kNone:
      return "";
    case Hold::kNoProvider:
      return "no_provider";
    case Hold::kDisabled:
      return "disabled";
    case Hold::kProtected:
      return "protected";
    case Hold::kNoCapacity:
      return "no_capacity";
    case Hold::kPrice:
      return "price_cap";
    case Hold::kMax:
      return "pool_max";
    case Hold::kQuota:
      return "quota";
    case Hold::kSteps:
      return "steps";
  }
  return "";
}

std::int64_t Millis(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::vector<WhyReason> Told(const std::vector<Reason>& reasons) {
  std::vector<WhyReason> told;
  for (const Reason& one : reasons) {
    told.push_back({std::string(WhyName(one.code)), one.pool, one.sentence, one.numbers});
  }
  return told;
}

// Of a job that is not among those that are decided of.
WhyReason ByState(const Job& job) {
  const std::string id = PublicId(job);
  const std::string nothing_left(WhyName(WhyCode::kNothingLeft));
  switch (job.state) {
    case JobState::kDraft:
      return {"draft", "", id + " is a draft: it begins when all of its items are sent", {}};
    case JobState::kFinished:
      return {nothing_left, "", id + " is finished: all of its items are done", {}};
    case JobState::kCancelling:
    case JobState::kCancelled:
      return {nothing_left, "", id + " was cancelled: nothing of it is started any more", {}};
    case JobState::kPaused:
      return {std::string(WhyName(WhyCode::kPaused)),
              "",
              id + " is paused" + (job.reason.empty() ? "" : ": " + job.reason) +
                  "; 'tidemill resume " + id + "' lets it go on",
              {}};
    case JobState::kActive:
      break;
  }
  return {std::string(WhyName(WhyCode::kStarting)),
          "",
          id + " is new: it is planned within a second, ask again then",
          {}};
}

std::int64_t SlotsOn(const PlanMachine& machine) {
  std::int64_t slots = 0;
  for (const MachineLease& lease : machine.leases) slots += lease.slots;
  return slots;
}

void Count(MachineCounts& counts, MachineState state) {
  switch (state) {
    case MachineState::kOrdered:
      ++counts.ordered;
      return;
    case MachineState::kBooting:
      ++counts.booting;
      return;
    case MachineState::kJoined:
      ++counts.joined;
      return;
    case MachineState::kDraining:
      ++counts.draining;
      return;
    case MachineState::kGone:
      return;
  }
}

void AddMachines(JobCost& cost, const Decided& decided, const PlanJob& job) {
  const auto queue = decided.index.FindQueue(job.queue);
  if (!queue) return;
  const std::vector<std::string>& pools = decided.snapshot.queues[*queue].pools;
  for (const PlanMachine& machine : decided.snapshot.machines) {
    const bool works = std::any_of(machine.leases.begin(), machine.leases.end(),
                                   [&](const MachineLease& lease) { return lease.job == job.id; });
    if (works) ++cost.working;
    if (std::find(pools.begin(), pools.end(), machine.pool) == pools.end()) continue;
    Count(cost.machines, machine.state);
  }
}

void AddMoney(const std::vector<Entry>& entries, Account account, Duration& time, Money& amount) {
  for (const Entry& entry : entries) {
    if (entry.account != account) continue;
    time += entry.time;
    amount += entry.amount;
  }
}

ProjectCosts::OfJob MoneyOf(const std::vector<Entry>& entries, std::string job,
                            Duration* lost_time) {
  ProjectCosts::OfJob cost{std::move(job), {}, {}, {}};
  Duration lost{};
  AddMoney(entries, Account::kJob, cost.machine_time, cost.spent);
  AddMoney(entries, Account::kLost, lost, cost.lost);
  // What was lost was moved out of what the job has been put down for, and was paid all the same.
  cost.spent += cost.lost;
  cost.machine_time += lost;
  if (lost_time != nullptr) *lost_time = lost;
  return cost;
}

}  // namespace

JobWhy JobWhyOf(const Decided* decided, const Job& job) {
  JobWhy why{PublicId(job), 0, 0, {}};
  const auto number = decided != nullptr ? decided->index.FindJob(job.id) : std::nullopt;
  if (!number) {
    why.reasons.push_back(ByState(job));
    return why;
  }
  const PlanJob& planned = decided->snapshot.jobs[*number];
  why.running = decided->index.RunningTotal(*number);
  why.could_run = std::max(why.running, planned.waiting + planned.leased);
  why.reasons = Told(WhyJob(decided->context(), *number));
  return why;
}

Result<MachineWhy> MachineWhyOf(const Decided& decided, const std::string& asked) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < decided.snapshot.machines.size(); ++i) {
    const PlanMachine& machine = decided.snapshot.machines[i];
    const bool is_session = machine.session != SessionId{} && ToString(machine.session) == asked;
    if (is_session || machine.id == asked) {
      found = {i};
      break;
    }
    if (machine.name == asked) found.push_back(i);
  }
  if (found.empty()) return Fail(Code::kNotFound, "there is no machine " + asked);
  if (found.size() > 1) {
    std::string ids;
    for (const std::size_t i : found) ids += " " + decided.snapshot.machines[i].id;
    return Fail(Code::kInvalid, "several machines are called " + asked + ":" + ids);
  }
  const PlanMachine& machine = decided.snapshot.machines[found.front()];
  return MachineWhy{machine.id, machine.pool, std::string(StateName(machine.state)),
                    SlotsOn(machine), Told(WhyMachine(decided.context(), found.front()))};
}

JobCost JobCostOf(const Decided* decided, const JobCounts& shown,
                  const std::vector<JobMoney>& money) {
  const Job& job = shown.job;
  JobCost cost;
  cost.job = PublicId(job);
  for (const JobMoney& one : money) {
    if (one.job != job.id) continue;
    const auto sums = MoneyOf(one.entries, "", &cost.lost_time);
    cost.spent = sums.spent;
    cost.lost = sums.lost;
    cost.machine_time = sums.machine_time;
  }
  cost.items_done = shown.counts.succeeded + shown.counts.failed;
  if (cost.items_done > 0) cost.cost_an_item = Money{cost.spent.micros / cost.items_done};
  const JobWishes& wishes = job.spec.wishes;
  cost.budget = wishes.budget;
  if (wishes.deadline) cost.deadline_ms = job.created_ms + wishes.deadline->count();
  const auto number = decided != nullptr ? decided->index.FindJob(job.id) : std::nullopt;
  if (!number) return cost;
  AddMachines(cost, *decided, decided->snapshot.jobs[*number]);
  if (const auto one = ForecastOf(decided->index, decided->plan, decided->wanted, *number)) {
    cost.forecast = JobForecast{one->slots, one->time,       one->least,    one->most,
                                one->cost,  one->cost_least, one->cost_most};
  }
  return cost;
}

ProjectCosts CostsOf(const std::vector<Job>& jobs, const std::vector<JobMoney>& money,
                     const std::vector<Entry>& overhead) {
  ProjectCosts costs;
  std::map<JobId, std::string> names;
  for (const Job& job : jobs) names[job.id] = PublicId(job);
  for (const JobMoney& one : money) {
    const auto name = names.find(one.job);
    if (name == names.end() || one.entries.empty()) continue;
    costs.jobs.push_back(MoneyOf(one.entries, name->second, nullptr));
    costs.spent += costs.jobs.back().spent;
    costs.lost += costs.jobs.back().lost;
  }
  std::stable_sort(costs.jobs.begin(), costs.jobs.end(),
                   [](const auto& a, const auto& b) { return a.spent > b.spent; });
  if (costs.jobs.size() > kDearest) costs.jobs.resize(kDearest);
  AddMoney(overhead, Account::kIdle, costs.idle_time, costs.idle);
  AddMoney(overhead, Account::kBoot, costs.boot_time, costs.boot);
  return costs;
}

PoolsNow PoolsNowOf(const Decided& decided) {
  PoolsNow pools;
  for (std::size_t i = 0; i < decided.snapshot.pools.size(); ++i) {
    const PlanPool& pool = decided.snapshot.pools[i];
    const PoolOutlook& outlook = decided.wanted.pools[i];
    PoolNow& now = pools[pool.name];
    now.needed = outlook.needed;
    now.limit = outlook.limit;
    now.hold = HoldName(outlook.hold);
    now.words = pool.provider_word.words;
    now.tried = pool.provider_word.tried;
    if (pool.provider_word.no_capacity_until) {
      now.again_ms = Millis(*pool.provider_word.no_capacity_until);
    }
    now.never_joined = pool.never_joined;
  }
  for (const PlanMachine& machine : decided.snapshot.machines) {
    const auto pool = pools.find(machine.pool);
    if (pool != pools.end()) Count(pool->second.machines, machine.state);
  }
  return pools;
}

}  // namespace tidemill
