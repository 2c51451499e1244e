// SPDX-License-Identifier: Apache-2.0
#include "plan/why.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/after_plan.h"
#include "plan/caps.h"
#include "plan/claims.h"
#include "plan/demand.h"
#include "plan/words.h"

namespace tidemill {
namespace {

std::string Quoted(const std::string& name) { return "'" + name + "'"; }

// Finds the reasons of one job.
class JobReasons {
 public:
  JobReasons(const WhyContext& context, std::size_t number)
      : context_(context),
        index_(context.index),
        number_(number),
        job_(index_.snapshot().jobs[number]) {}

  std::vector<Reason> Find() {
    if (AddBar()) return std::move(reasons_);
    // What waits may be all of the kind that is not for spot: its claim is the first of the two.
    for (const Claim& claim : ClaimsOf(index_)) {
      if (claim.job == number_ && claim.waiting > 0 &&
          (!claim.worn || claim.waiting == job_.waiting)) {
        AddOf(claim);
      }
    }
    for (const std::string& name : JobQueue().pools) AddPoolBar(name);
    return std::move(reasons_);
  }

 private:
  using Numbers = std::map<std::string, std::int64_t>;
  void Add(WhyCode code, std::string pool, std::string sentence, Numbers numbers = {}) {
    reasons_.push_back({code, std::move(pool), std::move(sentence), std::move(numbers)});
  }
  const Queue& JobQueue() const { return index_.snapshot().queues[*index_.FindQueue(job_.queue)]; }

  // True: it keeps all of the job from running.
  bool AddBar();
  void AddResting();
  void AddAfter();
  void AddPoolBar(const std::string& name);
  void AddDevices(std::size_t pool);
  void AddTooLarge(std::size_t pool);

  void AddOf(const Claim& claim);
  bool AddLimit(const Claim& claim);
  std::string TrialText(const PlanPool& pool) const;
  void AddHold(std::size_t pool);
  void AddToCome(const Claim& claim);
  void AddPulls();
  bool AddReservation();
  void AddShare(const Claim& claim);

  const WhyContext& context_;
  const SnapshotIndex& index_;
  const std::size_t number_;
  const PlanJob& job_;
  std::vector<Reason> reasons_;
};

bool JobReasons::AddBar() {
  const std::string queue = "queue " + Quoted(job_.queue);
  switch (JobBarOf(index_, number_)) {
    case JobBar::kNone:
      return false;
    case JobBar::kPaused:
      Add(WhyCode::kPaused, "",
          job_.name + " is paused" + (job_.paused->empty() ? "" : ": " + *job_.paused) +
              "; 'tidemill resume " + job_.name + "' lets it go on");
      return true;
    case JobBar::kAfter:
      AddAfter();
      return true;
    case JobBar::kNoQueue:
      Add(WhyCode::kNoQueue, "", "there is no " + queue + "; apply one of this name");
      return true;
    case JobBar::kQueueDisabled:
      Add(WhyCode::kQueueDisabled, "", queue + " is disabled; enable it to let its jobs run");
      return true;
    case JobBar::kNothingWaits:
      AddResting();
      return true;
    case JobBar::kNoPool:
      if (JobQueue().pools.empty())
        Add(WhyCode::kNoPools, "", queue + " has no pools; give it one");
      for (const std::string& name : JobQueue().pools) AddPoolBar(name);
      return true;
  }
  return true;
}

void JobReasons::AddAfter() {
  std::string names;
  for (const JobId id : job_.after) {
    const auto other = index_.FindJob(id);
    names += (names.empty() ? "" : ", ") +
             (other ? index_.snapshot().jobs[*other].name : std::to_string(id.number));
  }
  Add(WhyCode::kAfter, "", "it begins when " + names + " is over",
      {{"jobs", static_cast<std::int64_t>(job_.after.size())}});
}

void JobReasons::AddResting() {
  if (job_.resting > 0) {
    Add(WhyCode::kBackOff, "",
        CountOf(job_.resting, "item") + " failed and will be tried again, the next one in " +
            InWords(std::max(job_.rest_until - context_.now, Duration(0))),
        {{"resting", job_.resting}});
  } else if (job_.leased > 0) {
    Add(WhyCode::kNothingLeft, "",
        "nothing is left to start: its last " + CountOf(job_.leased, "item") +
            (job_.leased == 1 ? " is" : " are") + " under way",
        {{"leased", job_.leased}});
  } else {
    Add(WhyCode::kNothingLeft, "", "nothing is left to start", {{"leased", 0}});
  }
}

void JobReasons::AddPoolBar(const std::string& name) {
  const auto pool = index_.FindPool(name);
  const std::string begin = "pool " + Quoted(name);
  std::string labels;
  switch (PoolBarOf(index_, number_, pool)) {
    case PoolBar::kNone:
      return;
    case PoolBar::kMissing:
      return Add(WhyCode::kPoolMissing, name,
                 "queue " + Quoted(job_.queue) + " names " + begin +
                     ", which does not exist; apply it, or take it out of the queue");
    case PoolBar::kDisabled:
      return Add(WhyCode::kPoolDisabled, name, begin + " is disabled; enable it to use it");
    case PoolBar::kLabels:
      for (const auto& [key, value] : job_.labels) {
        labels += (labels.empty() ? "" : ", ") + key + "=" + value;
      }
      return Add(WhyCode::kLabels, name,
                 begin + " does not have the labels that the job asks for (" + labels +
                     "); change the job's labels or the pool's");
    case PoolBar::kDevices:
      return AddDevices(*pool);
    case PoolBar::kTooLarge:
      return AddTooLarge(*pool);
  }
}

void JobReasons::AddDevices(std::size_t pool) {
  std::string has;
  for (const Resources& shape : index_.Shapes(pool)) {
    if (has.empty()) has = InWords(shape.devices);
  }
  const std::string& name = index_.snapshot().pools[pool].name;
  Add(WhyCode::kDevices, name,
      "pool " + Quoted(name) + " has no machine with what an item asks for, " +
          InWords(job_.need.devices) + (has.empty() ? "" : ": its machines have " + has) +
          "; use a pool that has them");
}

void JobReasons::AddTooLarge(std::size_t pool) {
  Resources largest{.millicpus = 0};
  for (const Resources& shape : index_.Shapes(pool)) {
    largest.millicpus = std::max(largest.millicpus, shape.millicpus);
    largest.memory_bytes = std::max(largest.memory_bytes, shape.memory_bytes);
  }
  const std::string& name = index_.snapshot().pools[pool].name;
  const std::string begin = "pool " + Quoted(name) + ": no machine is large enough: an item asks ";
  const std::string end = "; ask for less, or use a pool of larger machines";
  if (job_.need.memory_bytes > largest.memory_bytes) {
    return Add(WhyCode::kTooLarge, name,
               begin + BytesInWords(job_.need.memory_bytes) + ", the largest has " +
                   BytesInWords(largest.memory_bytes) + end,
               {{"asked_bytes", job_.need.memory_bytes}, {"largest_bytes", largest.memory_bytes}});
  }
  if (job_.need.millicpus > largest.millicpus) {
    return Add(
        WhyCode::kTooLarge, name,
        begin + CpusInWords(job_.need.millicpus) + ", the largest has " +
            CpusInWords(largest.millicpus) + end,
        {{"asked_millicpus", job_.need.millicpus}, {"largest_millicpus", largest.millicpus}});
  }
  Add(WhyCode::kTooLarge, name,
      begin + InWords(job_.need) + ", which no single one has together" + end);
}

void JobReasons::AddOf(const Claim& claim) {
  AddPulls();
  if (AddLimit(claim)) return;
  if (AddReservation()) return;
  for (const std::size_t pool : claim.pools) AddHold(pool);
  AddToCome(claim);
  AddShare(claim);
  if (!reasons_.empty()) return;
  if (HasRoomFor(index_, context_.plan, claim)) {
    Add(WhyCode::kStarting, "",
        "nothing holds it up: agents take its items when they ask next, within seconds");
  } else {
    Add(WhyCode::kFull, "",
        "the machines that it may use are full; it gets room as items end there, or add machines");
  }
}

bool JobReasons::AddLimit(const Claim& claim) {
  const Caps caps = CapsAfter(index_, context_.plan);
  Limit reached = Limit::kNone;
  for (std::size_t p = 0; p < claim.pools.size(); ++p) {
    reached = caps.Reached(claim, p);
    if (reached == Limit::kNone) return false;  // it may run there
  }
  const QueueLimits& limits = JobQueue().limits;
  const std::string queue = "queue " + Quoted(job_.queue);
  switch (reached) {
    case Limit::kNone:
      return false;
    case Limit::kBudget:
      Add(WhyCode::kBudget, "",
          "its budget of " + InWords(*job_.budget) + " is used up: " + InWords(job_.spent) +
              " are spent, the rest is what its running items may still cost; raise its budget",
          {{"budget_micros", job_.budget->micros}, {"spent_micros", job_.spent.micros}});
      return true;
    case Limit::kMaxParallel:
      Add(WhyCode::kMaxParallel, "",
          "it runs the most that it asked for, " + CountOf(*job_.max_parallel, "item") +
              " side by side; raise its max_parallel for more",
          {{"max_parallel", *job_.max_parallel}});
      return true;
    case Limit::kRunning:
      Add(WhyCode::kRunningLimit, "",
          queue + " runs the most that it may, " + CountOf(*limits.running, "item") +
              "; wait, or raise its limit of running items",
          {{"limit", *limits.running}});
      return true;
    case Limit::kMachines:
      Add(WhyCode::kMachinesLimit, "",
          queue + " uses the most that it may, " + CountOf(*limits.machines, "machine") +
              "; wait, or raise its limit of machines",
          {{"limit", *limits.machines}});
      return true;
    case Limit::kCost:
      Add(WhyCode::kCostLimit, "",
          queue + " spends the most that it may, " + InWords(*limits.cost_an_hour) +
              " an hour; wait, or raise its cost limit",
          {{"limit_micros", limits.cost_an_hour->micros}});
      return true;
  }
  return false;
}

std::string JobReasons::TrialText(const PlanPool& pool) const {
  const std::optional<TimePoint> at = NextTrial(pool);
  if (!at) return "one is tried in a while";
  return *at > context_.now ? "one is tried in " + InWords(*at - context_.now) : "one is tried now";
}

void JobReasons::AddHold(std::size_t number) {
  const PlanPool& pool = index_.snapshot().pools[number];
  const PoolOutlook& outlook = context_.wanted.pools[number];
  const std::string begin = "pool " + Quoted(pool.name);
  const std::string words =
      pool.provider_word.words.empty() ? "" : ": " + Quoted(pool.provider_word.words);
  switch (outlook.hold) {
    case Hold::kNone:
    case Hold::kDisabled:  // said by AddPoolBar
      return;
    case Hold::kNoProvider:
      if (outlook.coming > 0) return;
      return Add(WhyCode::kNoMachines, pool.name,
                 begin + " has no machines and no provider that makes some; start an agent there");
    case Hold::kProtected:
      return Add(WhyCode::kProtected, pool.name,
                 begin + " is protected: the last " +
                     CountOf(std::max(pool.never_joined, kNeverJoinedMost), "machine") +
                     " never joined; " + TrialText(pool) +
                     ", or look at one's console, then: tidemill pools forgive " + pool.name,
                 {{"never_joined", pool.never_joined}});
    case Hold::kNoCapacity:
      return Add(WhyCode::kNoCapacity, pool.name,
                 begin + ": the provider has no capacity" + words + ", tried " +
                     CountOf(pool.provider_word.tried, "time") + ", again in " +
                     InWords(*pool.provider_word.no_capacity_until - context_.now) +
                     "; add kinds of machines, or another pool",
                 {{"tried", pool.provider_word.tried}});
    case Hold::kPrice:
      return Add(WhyCode::kPriceCap, pool.name,
                 begin + " costs " + InWords(pool.price) + " an hour, its max_price allows " +
                     InWords(*PriceCap(pool)) + "; wait, or raise max_price",
                 {{"price_micros", pool.price.micros}, {"cap_micros", PriceCap(pool)->micros}});
    case Hold::kQuota:
      return Add(WhyCode::kQuota, pool.name,
                 begin + ": the provider's quota allows " + CountOf(outlook.limit, "machine") +
                     words + "; ask the provider for more",
                 {{"limit", outlook.limit}});
    case Hold::kSteps:
      return Add(WhyCode::kSteps, pool.name,
                 begin + " follows its steps, which give " +
                     CountOf(outlook.coming + outlook.ordered, "machine") +
                     " for what waits now; change its steps for more",
                 {{"machines", outlook.coming + outlook.ordered}});
    case Hold::kMax:
      return Add(WhyCode::kPoolMax, pool.name,
                 begin + " has the most that it may, " + CountOf(outlook.limit, "machine") +
                     "; wait, or raise its max",
                 {{"limit", outlook.limit}});
  }
}

void JobReasons::AddToCome(const Claim& claim) {
  for (const std::size_t pool : claim.pools) {
    std::int64_t coming = context_.wanted.pools[pool].ordered;
    std::optional<TimePoint> since;
    if (coming > 0) since = context_.now;
    for (std::size_t i = 0; i < index_.snapshot().machines.size(); ++i) {
      const PlanMachine& machine = index_.snapshot().machines[i];
      if (index_.PoolOf(i) != pool || machine.state > MachineState::kBooting) continue;
      ++coming;
      since = std::min(since.value_or(machine.since), machine.since);
    }
    if (coming == 0) continue;
    const std::string& name = index_.snapshot().pools[pool].name;
    Add(WhyCode::kWaitsForMachines, name,
        "it waits for " + CountOf(coming, "machine") + " of pool " + Quoted(name) +
            ", ordered up to " + InWords(context_.now - *since) + " ago; they join by themselves",
        {{"machines", coming}});
  }
  const bool ordered =
      std::any_of(claim.pools.begin(), claim.pools.end(), [this](std::size_t pool) {
        return !index_.snapshot().pools[pool].provider.empty() &&
               context_.wanted.pools[pool].coming + context_.wanted.pools[pool].ordered > 0;
      });
  if (!job_.times && ordered && ItemsLeft(claim) > index_.RunningTotal(number_)) {
    Add(WhyCode::kCanary, "",
        "nothing is known yet of how long its items take: at most " +
            CountOf(kCanaryMachines, "machine") +
            " are ordered for it until the first have succeeded",
        {{"machines", kCanaryMachines}});
  }
}

void JobReasons::AddPulls() {
  std::int64_t machines = 0;
  std::string first;
  for (const PlanMachine& machine : index_.snapshot().machines) {
    for (const MachineLease& lease : machine.leases) {
      if (lease.job != job_.id || lease.waits_for.empty()) continue;
      if (machines++ == 0) first = machine.id + " is " + lease.waits_for;
    }
  }
  if (machines == 0) return;
  Add(WhyCode::kImagePull, "",
      CountOf(machines, "machine") + (machines == 1 ? " gets" : " get") + " ready for its items (" +
          first + "); they start by themselves",
      {{"machines", machines}});
}

bool JobReasons::AddReservation() {
  for (const Reservation& one : context_.plan.reserved) {
    if (one.job != job_.id) continue;
    Add(WhyCode::kReserved, "",
        "an item (" + InWords(job_.need) + ") fits on no machine beside what runs now: " +
            one.machine + " takes nothing else until it does");
    return true;
  }
  return false;
}

void JobReasons::AddShare(const Claim& claim) {
  std::int64_t mine = 0;
  std::int64_t all = 0;
  std::map<std::int64_t, std::int64_t> others;
  for (const PlanRow& row : context_.plan.rows) {
    const std::size_t pool = *index_.FindPool(row.pool);
    if (std::find(claim.pools.begin(), claim.pools.end(), pool) == claim.pools.end()) continue;
    all += row.slots;
    (row.job == job_.id ? mine : others[row.job.number]) += row.slots;
  }
  const std::int64_t running = index_.RunningTotal(number_);
  if (others.empty() || mine >= running + job_.waiting) return;
  const auto most = std::max_element(others.begin(), others.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  const std::string& ahead = index_.snapshot().jobs[*index_.FindJob({most->first})].name;
  Add(WhyCode::kShare, "",
      "its share is " + InWords(mine) + " of " + CountOf(all, "slot") + ", and it runs " +
          InWords(running) + "; " + CountOf(static_cast<std::int64_t>(others.size()), "other job") +
          (others.size() == 1 ? " is" : " are") + " served too, most of all " + ahead + " (" +
          InWords(most->second) + "); more comes as their items end",
      {{"share", mine}, {"slots", all}, {"running", running}});
}

}  // namespace

std::vector<Reason> WhyJob(const WhyContext& context, std::size_t job) {
  return JobReasons(context, job).Find();
}

}  // namespace tidemill
