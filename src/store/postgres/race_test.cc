// SPDX-License-Identifier: Apache-2.0
// Real concurrency on one database: agents, a reaper, an operator and a roller, all at once.
// Whatever the order of their commits, nothing is lost or doubled, nobody waits in a circle, and
// all heals.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "store/postgres/test_database.h"

namespace tidemill {
namespace {

constexpr int kAgentThreads = 8;
constexpr int kSessionsAThread = 3;
constexpr int kExchangesAThread = 600;
constexpr int kJobs = 3;
constexpr int kDoomedJobs = 8;  // these are cancelled, one after the other

// The database's way out, not ours: say it again.
bool MayHappen(Code code) { return code == Code::kUnavailable || code == Code::kUnknown; }

class World {
 public:
  // Says it again while the database is away; anything else is a bug.
  template <typename Call>
  auto Say(Call call) {
    auto result = call();
    for (int again = 0; !result && MayHappen(result.error().code) && again < 50; ++again) {
      result = call();
    }
    EXPECT_TRUE(result.has_value())
        << CodeName(result.error().code) << ": " << result.error().reason;
    return result;
  }

  explicit World(TestDatabase& database)
      : database_(database), store_({database.conninfo(), kAgentThreads + 4}) {
    for (int i = 0; i < kJobs + kDoomedJobs; ++i) AddJob(i);
  }

  void Run(bool with_crashes) {
    std::vector<std::jthread> agents;
    for (int i = 0; i < kAgentThreads; ++i) agents.emplace_back([this, i] { Agent(i); });
    std::vector<std::jthread> others;
    others.emplace_back([this] { Reaper(); });
    others.emplace_back([this] { Operator(); });
    others.emplace_back([this] { Roller(); });
    others.emplace_back([this] { Checker(); });
    if (with_crashes) others.emplace_back([this] { Killer(); });
    for (std::jthread& agent : agents) agent.join();
    over_ = true;
    others.clear();
    // Of the connections that were killed while they were idle, the first to be used says so for
    // all.
    (void)Say([&] { return store_.ReadChange(); });
  }

  // Everything stops; then all jobs come to their end.
  void Heal() {
    SeededRandom random(99);
    for (const JobId job : jobs_) {
      if (Must(store_.FindJob(job)).state == JobState::kPaused) Must(store_.ResumeJob(job));
    }
    for (const Session& session : Must(store_.Dump({}, Bodies::kWithout)).sessions) {
      SyncOrder order;
      order.session = session.id;
      order.token = kToken;
      order.leaving = true;
      Count(Must(store_.Run({{order}, {}})));
    }
    NewSession session;
    session.id = random.NewId<SessionId>();
    session.machine = ToString(session.id);
    session.project = "p";
    session.token = kToken;
    session.life = kLong;
    Must(store_.Join(session));
    for (const JobId job : jobs_) {
      while (Finish(session.id, job, random)) {
      }
    }
    while (Must(store_.RollUp(64, JoinBodies)).chunks > 0) {
    }
  }

  void ExpectConserved() {
    EXPECT_EQ(CheckConservation(Must(store_.Dump({}, Bodies::kWithout))), std::vector<Breach>());
  }

  // Outcomes that were answered, against those that are there.
  void ExpectLedgerBalances() {
    std::int64_t done = 0;
    for (const JobId job : jobs_) {
      const Counts counts = Must(store_.CountItems(job)).counts;
      done += counts.succeeded + counts.failed;
    }
    EXPECT_EQ(outcomes_ - reopened_, done);
    EXPECT_GT(outcomes_, 0);
    EXPECT_GT(reopened_, 0);
    EXPECT_GT(reaped_, 0);
    EXPECT_GT(checks_, 0);
    EXPECT_GT(retried_, 0);
  }

 private:
  void AddJob(int number) {
    const std::vector<int> chunks(6, 64);
    const JobId id = Must(store_.CreateJob(JobOf("j" + std::to_string(number),
                                                 {.retries = 1, .memory = 1, .memory_max = 4})))
                         .id;
    Must(store_.AddPart(id, PartOf(0, chunks)));
    Must(store_.SealJob(id, 1));
    jobs_.push_back(id);
  }

  void Count(const ExchangeResult& result) { outcomes_ += result.outcomes; }

  // One more lease of a job is taken and done; false once the job is over.
  bool Finish(SessionId session, JobId job, Random& random) {
    Must(store_.SweepJob(job));
    const JobState state = Must(store_.FindJob(job)).state;
    if (state == JobState::kFinished || state == JobState::kCancelled) return false;
    SyncOrder order;
    order.session = session;
    order.token = kToken;
    order.life = kLong;
    order.asks.push_back({job, 64, random.NewId<LeaseId>()});
    const ExchangeResult granted = Must(store_.Run({{order}, {}}));
    for (const Grant& grant : granted.syncs[0].grants) {
      SyncOrder report;
      report.session = session;
      report.token = kToken;
      report.life = kLong;
      report.settlements.push_back(
          Settle(grant.lease.id, {.ok = grant.lease.mine.Resized(limits::kItemsPerChunk)}));
      Count(Must(store_.Run({{report}, {}})));
    }
    return true;
  }

  struct Machine {
    SessionId session;
    bool joined = false;
    std::map<LeaseId, Lease> leases;
    std::int32_t seq = 0;
  };

  void Agent(int number) {
    SeededRandom random(static_cast<std::uint64_t>(number));
    std::vector<Machine> machines(kSessionsAThread);
    std::map<JobId, std::int32_t> cursors;
    for (int i = 0; i < kExchangesAThread; ++i) {
      Exchange exchange;
      exchange.cursors = cursors;
      for (Machine& machine : machines) {
        if (!machine.joined) Join(machine, random);
        exchange.syncs.push_back(Order(machine, random));
      }
      const auto result = Say([&] { return store_.Run(exchange); });
      if (!result) continue;
      Count(*result);
      for (const auto& [job, cursor] : result->cursors) cursors[job] = cursor;
      for (std::size_t m = 0; m < machines.size(); ++m) Learn(machines[m], result->syncs[m]);
    }
  }

  void Join(Machine& machine, Random& random) {
    machine = {};
    NewSession session;
    session.id = machine.session = random.NewId<SessionId>();
    session.machine = ToString(session.id);
    session.project = "p";
    session.token = kToken;
    session.life = kLong;
    machine.joined = Say([&] { return store_.Join(session); }).has_value();
  }

  SyncOrder Order(Machine& machine, Random& random) {
    SyncOrder order;
    order.session = machine.session;
    order.token = kToken;
    order.life = random.Chance(0.9) ? kLong : kOver;
    order.leaving = random.Chance(0.01);
    for (const auto& [id, lease] : machine.leases) {
      order.known.push_back(id);
      if (!random.Chance(0.7)) continue;
      Settlement settlement;
      settlement.lease = id;
      settlement.seq = machine.seq++;
      for (const int i : lease.mine.Indexes()) {
        const double dice = random.Unit();
        if (dice < 0.85) settlement.ok.Set(i);
        if (dice > 0.85 && dice < 0.9) settlement.failed.Set(i);
        if (dice > 0.9 && dice < 0.93) settlement.back.Set(i);
        if (dice > 0.93 && dice < 0.96) settlement.memory.Set(i);
      }
      settlement.body = "body";
      order.settlements.push_back(settlement);
    }
    // A lie about somebody's lease locks a row that is not ours.
    if (const LeaseId other = AnyLease(random); random.Chance(0.2)) {
      order.settlements.push_back(Settle(other, {.seq = 1000, .ok = Upto(8)}));
    }
    for (int i = 0; i < 3; ++i) {
      const JobId job = jobs_[random.Below(jobs_.size())];
      order.asks.push_back({job, 1 + static_cast<int>(random.Below(16)), random.NewId<LeaseId>()});
    }
    return order;
  }

  LeaseId AnyLease(Random& random) {
    const std::lock_guard lock(mutex_);
    return shared_leases_.empty() ? LeaseId{} : shared_leases_[random.Below(shared_leases_.size())];
  }

  void Learn(Machine& machine, const SyncResult& result) {
    if (result.lost) machine.joined = false;
    for (const LeaseId& id : result.gone) machine.leases.erase(id);
    const std::lock_guard lock(mutex_);
    for (const Grant& grant : result.grants) {
      retried_ += grant.lease.tried ? 1 : 0;
      machine.leases[grant.lease.id] = grant.lease;
      if (shared_leases_.size() > 64) shared_leases_.clear();
      shared_leases_.push_back(grant.lease.id);
    }
  }

  void Reaper() {
    while (!over_) {
      const auto reaped = Say([&] { return store_.Reap(3); });
      if (!reaped) continue;
      reaped_ += static_cast<std::int64_t>(reaped->sessions.size());
      outcomes_ += reaped->items_failed;
    }
  }

  // Some jobs are cancelled; the others are paused, resumed and reopened, again and again.
  void Operator() {
    SeededRandom random(1000);
    for (int round = 0; !over_; ++round) {
      const JobId job = jobs_[random.Below(kJobs)];
      if (round % 4 == 0 && round / 4 < kDoomedJobs) {
        (void)store_.CancelJob(jobs_[static_cast<std::size_t>(kJobs + round / 4)]);
      }
      (void)store_.PauseJob(job, "");
      (void)store_.ResumeJob(job);
      ReopenWhich which;
      for (int i = 0; i < 40 && round % 2 == 0; ++i) {
        which.items.push_back(static_cast<std::int64_t>(random.Below(384)));
      }
      const auto reopened = Say([&] { return store_.ReopenJob(job, which); });
      if (reopened) reopened_ += reopened->items;
      const auto sweepable = Say([&] { return store_.ListSweepable(10); });
      if (!sweepable) continue;
      for (const JobId id : *sweepable) (void)Say([&] { return store_.SweepJob(id); });
    }
  }

  void Roller() {
    while (!over_) (void)Say([&] { return store_.RollUp(4, JoinBodies); });
  }

  void Checker() {
    while (!over_) {
      const auto state = Say([&] { return store_.Dump({}, Bodies::kWithout); });
      if (!state) continue;
      ++checks_;
      EXPECT_EQ(CheckConservation(*state), std::vector<Breach>());
    }
  }

  // As if the server's process had died: in the middle of anything, a COMMIT too.
  void Killer() {
    while (!over_) {
      database_.Sql(
          "select pg_terminate_backend(pid), pg_sleep(0.02) from pg_stat_activity"
          " where datname = current_database() and application_name = 'tidemill'"
          " and random() < 0.1");
    }
  }

  TestDatabase& database_;
  PostgresStore store_;
  std::vector<JobId> jobs_;
  std::atomic<bool> over_ = false;
  std::atomic<std::int64_t> outcomes_ = 0, reopened_ = 0, reaped_ = 0, checks_ = 0, retried_ = 0;
  std::mutex mutex_;
  std::vector<LeaseId> shared_leases_;  // guarded by mutex_
};

std::vector<std::string> Deadlocks(TestDatabase& database) {
  return database.Sql("select deadlocks from pg_stat_database where datname = current_database()");
}

TEST(Race, ManyAtOnceLoseNothingAndNeverDeadlock) {
  TestDatabase database;
  {
    World world(database);
    world.Run(false);
    world.ExpectConserved();
    world.Heal();
    world.ExpectConserved();
    world.ExpectLedgerBalances();
  }
  EXPECT_EQ(Deadlocks(database), std::vector<std::string>{"0"});
}

// The sweep waits for the reopening, and must then see what it has done.
TEST(Race, AJobThatIsBeingReopenedDoesNotFinish) {
  TestDatabase database;
  PostgresStore store({database.conninfo(), 1});
  const JobId job = Must(store.CreateJob(JobOf("k"))).id;
  Must(store.AddPart(job, PartOf(0, {2})));
  Must(store.SealJob(job, 1));
  database.Sql("update chunk set done = B'11'");
  const auto reopening = Must(Connection::Open(database.conninfo()));
  Must(reopening->Script("begin; update chunk set done = B'00'; update job set round = 1"));
  std::jthread sweep([&] { EXPECT_EQ(Must(store.SweepJob(job)).state, JobState::kActive); });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool waits = false;
  while (!waits && std::chrono::steady_clock::now() < limit) {
    waits = database.Sql(
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
                " and datname = current_database()") == std::vector<std::string>{"1"};
  }
  EXPECT_TRUE(waits) << "the sweep does not wait for the reopening";
  Must(reopening->Script("commit"));
  sweep.join();
  EXPECT_EQ(Must(store.FindJob(job)).state, JobState::kActive);
}

TEST(Race, ConnectionsThatBreakAtAnyMomentLoseNothing) {
  TestDatabase database;
  World world(database);
  world.Run(true);
  world.ExpectConserved();
  world.Heal();
  world.ExpectConserved();
}

}  // namespace
}  // namespace tidemill
