// SPDX-License-Identifier: Apache-2.0
#include "rehearse/rehearsal.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "agent/deps.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/virtual_loop.h"
#include "rehearse/packing.h"
#include "rehearse/played_items.h"
#include "rehearse/samples.h"
#include "server/decided.h"
#include "server/server.h"
#include "sim/cloud.h"
#include "sim/network.h"
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kBeginUs = 1'700'000'000'000'000;  // some day of 2023
constexpr char kProvider[] = "played";
const std::string kProject(kDefaultProject);
// Whether the job is over is looked at this often: the error of the time that it took.
constexpr Duration kLookEvery = milliseconds(100);
// A job of which nothing runs for so long will not end: longer than any rest of items or pools.
constexpr Duration kStuck = hours(2);
// From the job's end until its last machine is gone and paid; more than a pool's idle time, of
// which a day would be a slip.
constexpr Duration kWindDown = hours(26);
constexpr std::size_t kMostPools = 64;  // as many as a queue has

// Of many machines, the leader and the agents look for what no event says less often than in
// production: what they look for hardly happens here, and a play of hours would take as many.
constexpr std::int64_t kManyMachines = 100;
constexpr Duration kCalmPlanEvery = seconds(5);
constexpr Duration kCalmRefreshEvery = seconds(10);
constexpr Duration kCalmPollEvery = seconds(1);
constexpr Duration kCalmTidyEvery = seconds(15);
constexpr Duration kCalmTick = seconds(30);
constexpr Duration kCalmHeartbeat = seconds(30);

bool HasManyMachines(const Rehearsal& rehearsal) {
  std::int64_t machines = 0;
  for (const PlayedPool& pool : rehearsal.pools) machines += pool.machines.max;
  return std::min(machines, rehearsal.items) >= kManyMachines;
}

ServerLimits ServerLimitsOf(const Rehearsal& rehearsal) {
  ServerLimits limits;
  if (!HasManyMachines(rehearsal)) return limits;
  limits.plan_every = kCalmPlanEvery;
  limits.refresh_every = kCalmRefreshEvery;
  limits.poll_every = kCalmPollEvery;
  limits.roll_up_every = limits.blame_every = kCalmTidyEvery;
  const bool lost_silently = rehearsal.interrupted > 0 || !rehearsal.losses.empty();
  // How soon a machine is missed that went without a word must be as in production.
  if (lost_silently && rehearsal.notice == Duration::zero()) return limits;
  limits.heartbeat = kCalmHeartbeat;
  limits.session_life = 6 * kCalmHeartbeat;
  return limits;
}

AgentLimits AgentLimitsOf(const Rehearsal& rehearsal) {
  AgentLimits limits;
  if (HasManyMachines(rehearsal)) limits.tick = kCalmTick;
  return limits;
}

class Play {
 public:
  explicit Play(const Rehearsal& rehearsal);
  Result<Rehearsed> Run(const RehearsalProgress& progress);

 private:
  Result<void> Begin();
  Result<void> PutPools();
  Result<void> PutJob();
  Result<void> RunUntil(const std::function<Result<bool>()>& is_over);
  Result<bool> JobIsOver(const RehearsalProgress& progress);
  Result<bool> AllIsPaid();
  Result<void> EndPools();
  void EveryStep();
  void TakeAway(const std::vector<SimCloud::Up>& up, Duration step);
  void TakeSome(std::vector<SimCloud::Up> up, const SpotLoss& loss);
  Result<std::map<Account, Entry>> ReadAccounts();
  Result<Rehearsed> Sum();
  Result<Duration> UsefulTime();
  std::string WhyStuck();
  Duration Elapsed() const { return loop_.Now().time_since_epoch(); }

  const Rehearsal& rehearsal_;
  SeededRandom order_random_;
  SeededRandom network_random_;
  FaultDice network_dice_;
  SeededRandom cloud_random_;
  FaultDice cloud_dice_;
  SeededRandom loss_random_;
  SeededRandom server_random_;
  VirtualLoop loop_;
  MemoryStore store_;
  NullLog log_;
  const NetworkFaults network_faults_;
  const CloudFaults cloud_faults_;
  const MachineFaults machine_faults_;
  PlayedItems items_;
  std::optional<Server> server_;
  Network network_;
  VirtualLink link_;
  SimCloud cloud_;
  VirtualWorker worker_;
  Samples samples_;
  std::map<std::string, std::int64_t> slots_of_;  // of a machine, by pool
  JobId job_;
  Counts counts_;
  std::size_t losses_ = 0;  // that have happened
  std::int64_t most_machines_ = 0;
  std::int64_t most_slots_ = 0;
  Duration took_{};
};

Play::Play(const Rehearsal& rehearsal)
    : rehearsal_(rehearsal),
      order_random_(rehearsal.seed, "order"),
      network_random_(rehearsal.seed, "network"),
      network_dice_(network_random_),
      cloud_random_(rehearsal.seed, "cloud"),
      cloud_dice_(cloud_random_),
      loss_random_(rehearsal.seed, "loss"),
      server_random_(rehearsal.seed, "server"),
      loop_(order_random_),
      store_([this] { return kBeginUs + Elapsed().count(); }),
      items_(rehearsal, [this] { return loop_.Now(); }),
      network_(loop_, network_dice_, network_faults_, [this] { return &*server_; }),
      link_(network_, loop_),
      cloud_({.loop = loop_,
              .place = [this](const std::string&) { return SimCloud::Place{loop_, link_}; },
              .log = log_,
              .items = items_,
              .dice = cloud_dice_,
              .clock = [this] { return loop_.Now() + Duration(kBeginUs); },
              .faults = cloud_faults_,
              .machine_faults = machine_faults_,
              .agent_limits = AgentLimitsOf(rehearsal)},
             rehearsal.seed),
      worker_(loop_, server_random_) {
  for (const PlayedPool& pool : rehearsal.pools) {
    slots_of_[pool.name] = SlotsOf(pool.machines.shape, rehearsal.spec.resources);
  }
}

Result<void> Play::PutPools() {
  Queue queue;
  queue.name = rehearsal_.spec.wishes.queue.empty() ? kDefaultQueue : rehearsal_.spec.wishes.queue;
  for (const PlayedPool& pool : rehearsal_.pools) {
    Pool made;
    made.project = kDefaultProject;
    made.name = pool.name;
    TIDEMILL_TRY_VOID(store_.PutPool(made));
    PoolMachines machines = pool.machines;
    machines.provider = kProvider;
    machines.disabled = false;
    TIDEMILL_TRY_VOID(store_.SetMachines(kProject, pool.name, machines));
    cloud_.SetBoot(pool.name, pool.boot);
    queue.pools.push_back(pool.name);
  }
  TIDEMILL_TRY_VOID(store_.PutQueue(kProject, queue));
  return {};
}

Result<void> Play::PutJob() {
  NewJob job;
  job.project = kDefaultProject;
  job.key = "played";
  job.spec = rehearsal_.spec;
  job.spec.wishes.after.clear();
  const std::string& document = rehearsal_.spec.document;
  TIDEMILL_TRY(job.spec.document, PlayedSpec(document.empty() ? "{}" : document));
  TIDEMILL_TRY(const Job made, store_.CreateJob(job));
  job_ = made.id;
  std::int32_t parts = 0;
  for (std::int64_t left = rehearsal_.items; left > 0; ++parts) {
    const std::int64_t some = std::min(left, limits::kItemsPerRangePart);
    TIDEMILL_TRY_VOID(store_.AddPart(
        job_, {.number = parts, .digest = "part", .chunks = {}, .range_items = some}));
    left -= some;
  }
  TIDEMILL_TRY_VOID(store_.SealJob(job_, parts));
  return {};
}

Result<void> Play::Begin() {
  TIDEMILL_TRY_VOID(PutPools());
  ServerDeps deps{loop_, worker_, worker_, store_, store_, server_random_, log_, &store_};
  deps.providers[kProvider] = &cloud_.provider();
  server_.emplace(deps, ServerLimitsOf(rehearsal_));
  server_->Start();
  TIDEMILL_TRY_VOID(PutJob());
  EveryStep();
  return {};
}

Result<void> Play::RunUntil(const std::function<Result<bool>()>& is_over) {
  while (true) {
    bool due = false;
    loop_.After(kLookEvery, [&due] { due = true; });
    while (!due) loop_.Step();
    TIDEMILL_TRY(const bool over, is_over());
    if (over) return {};
  }
}

Result<bool> Play::JobIsOver(const RehearsalProgress& progress) {
  TIDEMILL_TRY(const Job job, store_.FindJob(job_));
  if (job.state == JobState::kFinished) return true;
  if (job.state == JobState::kPaused) {
    return Fail(Code::kInvalid, "it would be paused after " +
                                    std::to_string(Elapsed() / seconds(1)) + " s: " + job.reason);
  }
  if (loop_.Now() > items_.busy_until() + kStuck) {
    return Fail(Code::kInvalid, "it would not end: " + WhyStuck());
  }
  if (progress && !progress(Elapsed(), counts_.succeeded + counts_.failed)) {
    return Fail(Code::kUnavailable, "it was ended");
  }
  return false;
}

std::string Play::WhyStuck() {
  Result<Snapshots> all = store_.ReadSnapshots();
  if (!all || all->projects.empty()) return "nothing of it runs";
  const Decided decided(std::move(all->projects.front().snapshot), all->now);
  const auto job = decided.index.FindJob(job_);
  if (!job) return "nothing of it runs";
  return WhyJob(decided.context(), *job).front().sentence;
}

// What a pool keeps without work is not the job's to pay.
Result<void> Play::EndPools() {
  for (const PlayedPool& pool : rehearsal_.pools) {
    PoolMachines machines = pool.machines;
    machines.provider = kProvider;
    machines.disabled = false;
    machines.min = 0;
    TIDEMILL_TRY_VOID(store_.SetMachines(kProject, pool.name, machines));
  }
  return {};
}

Result<std::map<Account, Entry>> Play::ReadAccounts() {
  std::map<Account, Entry> accounts;
  TIDEMILL_TRY(const std::vector<JobMoney> money, store_.ReadMoney({job_}));
  for (const Entry& entry : money.front().entries) accounts[entry.account] = entry;
  TIDEMILL_TRY(const std::vector<Entry> overhead, store_.ReadOverhead(kProject));
  for (const Entry& entry : overhead) accounts[entry.account] = entry;
  return accounts;
}

// Every second that the cloud bills is in some account.
Result<bool> Play::AllIsPaid() {
  if (Elapsed() > took_ + kWindDown) {
    return Fail(Code::kInvalid,
                "a day after its end there are still machines; give pools an idle "
                "time of less than a day, as idle=5m");
  }
  if (cloud_.provider().there() > 0) return false;
  Duration billed{};
  for (const FakeProvider::Billed& one : cloud_.provider().bill()) billed += one.ended - one.since;
  TIDEMILL_TRY(const auto accounts, ReadAccounts());
  Duration paid{};
  for (const auto& [account, entry] : accounts) paid += entry.time;
  return paid == billed;
}

// What is looked at, and what happens to machines, step by step; long plays need no short ones.
void Play::EveryStep() {
  const Duration step = Elapsed() < minutes(10) ? seconds(1) : seconds(10);
  loop_.After(step, [this] { EveryStep(); });
  const std::vector<SimCloud::Up> up = cloud_.up();
  std::int64_t slots = 0;
  for (const SimCloud::Up& one : up) slots += slots_of_[one.pool];
  most_slots_ = std::max(most_slots_, slots);
  const Result<JobCounts> counted = store_.CountItems(job_);
  if (counted) counts_ = counted->counts;
  const std::int64_t there = cloud_.provider().there();
  most_machines_ = std::max(most_machines_, there);
  samples_.Add({Elapsed(), there, std::ssize(up), counts_.succeeded + counts_.failed});
  TakeAway(up, step);
}

void Play::TakeAway(const std::vector<SimCloud::Up>& up, Duration step) {
  const double hours_passed = std::chrono::duration<double, std::ratio<3600>>(step).count();
  if (rehearsal_.interrupted > 0) {
    for (const SimCloud::Up& one : up) {
      if (!one.spot || !loss_random_.Chance(rehearsal_.interrupted * hours_passed)) continue;
      cloud_.Interrupt(one.pool, one.name, rehearsal_.notice);
    }
  }
  while (losses_ < rehearsal_.losses.size() && rehearsal_.losses[losses_].at <= Elapsed()) {
    TakeSome(up, rehearsal_.losses[losses_++]);
  }
}

void Play::TakeSome(std::vector<SimCloud::Up> up, const SpotLoss& loss) {
  std::erase_if(up, [&](const SimCloud::Up& one) {
    return !one.spot || one.leaving || (!loss.pool.empty() && one.pool != loss.pool);
  });
  for (std::int64_t i = 0; i < loss.machines && !up.empty(); ++i) {
    std::swap(up[loss_random_.Below(up.size())], up.back());
    cloud_.Interrupt(up.back().pool, up.back().name, rehearsal_.notice);
    up.pop_back();
  }
}

Result<Duration> Play::UsefulTime() {
  Duration useful{};
  ChunkFilter filter;
  while (true) {
    TIDEMILL_TRY(const std::vector<Chunk> chunks, store_.ListChunks(job_, filter));
    for (const Chunk& chunk : chunks) {
      for (int i = 0; i < chunk.length(); ++i) {
        if (!chunk.done.Get(i) || chunk.failed.Get(i)) continue;
        useful += items_.UseOf(chunk.first_item + i);
      }
      filter.from = chunk.key.chunk + 1;
    }
    if (chunks.empty()) return useful;
  }
}

Result<Rehearsed> Play::Sum() {
  Rehearsed sum;
  sum.seed = rehearsal_.seed;
  TIDEMILL_TRY(const JobCounts counted, store_.CountItems(job_));
  sum.succeeded = counted.counts.succeeded;
  sum.failed = counted.counts.failed;
  sum.time = took_;
  TIDEMILL_TRY(auto accounts, ReadAccounts());
  const auto bill = [&](Account account) -> MachineBill {
    return {accounts[account].time, accounts[account].amount};
  };
  sum.work = bill(Account::kJob);
  sum.lost = bill(Account::kLost);
  sum.idle = bill(Account::kIdle);
  sum.boot = bill(Account::kBoot);
  TIDEMILL_TRY(sum.useful, UsefulTime());
  sum.machines = std::ssize(cloud_.provider().bill());
  sum.most_machines = most_machines_;
  sum.interruptions = cloud_.interrupted();
  sum.slots = std::max<std::int64_t>(most_slots_, 1);
  if (const auto most = rehearsal_.spec.wishes.max_parallel) {
    sum.slots = std::clamp<std::int64_t>(*most, 1, sum.slots);
  }
  const Packing packing = PackItems(rehearsal_.items, sum.slots, [this](std::int64_t item) {
    return rehearsal_.lengths.Draw(rehearsal_.seed, item);
  });
  sum.ideal = packing.ideal;
  sum.bound = packing.bound;
  sum.moments = samples_.moments();
  return sum;
}

Result<Rehearsed> Play::Run(const RehearsalProgress& progress) {
  TIDEMILL_TRY_VOID(Begin());
  TIDEMILL_TRY_VOID(RunUntil([&] { return JobIsOver(progress); }));
  took_ = Elapsed();
  TIDEMILL_TRY_VOID(EndPools());
  TIDEMILL_TRY_VOID(RunUntil([this] { return AllIsPaid(); }));
  samples_.AddLast({Elapsed(), 0, 0, rehearsal_.items});
  return Sum();
}

Result<void> Check(const Rehearsal& rehearsal) {
  if (rehearsal.pools.empty()) return Fail(Code::kInvalid, "there is no pool to run on");
  if (rehearsal.pools.size() > kMostPools) {
    return Fail(Code::kInvalid, "there are more than 64 pools; leave some away");
  }
  if (rehearsal.items < 1) return Fail(Code::kInvalid, "there are no items");
  const bool fits =
      std::any_of(rehearsal.pools.begin(), rehearsal.pools.end(), [&](const PlayedPool& pool) {
        return SlotsOf(pool.machines.shape, rehearsal.spec.resources) > 0 && pool.machines.max > 0;
      });
  if (!fits) {
    return Fail(Code::kInvalid,
                "no pool has a machine that is large enough for an item; give one "
                "more cpus or memory, or ask for less in the spec");
  }
  return {};
}

}  // namespace

Result<Rehearsed> Rehearse(const Rehearsal& rehearsal, const RehearsalProgress& progress) {
  TIDEMILL_TRY_VOID(Check(rehearsal));
  return Play(rehearsal).Run(progress);
}

}  // namespace tidemill
