// SPDX-License-Identifier: Apache-2.0
// The same random calls, lies included, to the store that is easy to read and to the one that is
// used: every answer and the state after every call must be the same, and nothing lost or doubled.
#include "store/postgres/differential.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "store/memory/memory_store.h"
#include "store/postgres/test_database.h"

namespace tidemill {
namespace {

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

class Differential {
 public:
  Differential(std::uint64_t seed, const WorldSize& size, TestDatabase& database,
               PostgresStore& postgres, DifferentialSeen& seen)
      : random_(seed),
        size_(size),
        database_(database),
        postgres_(postgres),
        seen_(seen),
        lossy_(random_.Chance(0.4)) {
    database_.SetClock(now_us_);
    memory_.WatchTouched();
  }

  // True while the stores agree.
  bool Step() {
    ++seen_.calls;
    if (Chance(0.3)) PassTime();
    named_.clear();
    Call();
    for (const ChunkKey& key : memory_.TakeTouched()) named_.insert(key.job);
    if (++calls_ % size_.whole_every == 0) {
      Compare(std::nullopt);
    } else {
      for (const JobId job : named_) Compare(job);
    }
    return same_;
  }
  const std::string& last() const { return last_; }

 private:
  struct Held {
    Lease lease;
    std::int32_t next_seq = 0;
  };

  template <typename As = Store, typename Ask>
  auto Both(const char* name, Ask ask) {
    last_ = name;
    auto expected = ask(static_cast<As&>(memory_));
    auto actual = ask(static_cast<As&>(postgres_));
    EXPECT_EQ(expected.has_value(), actual.has_value())
        << name << ": " << (actual ? "" : actual.error().reason);
    if (expected.has_value() != actual.has_value()) {
      same_ = false;
    } else if (!expected) {
      same_ = same_ && expected.error().code == actual.error().code &&
              expected.error().reason == actual.error().reason;
      EXPECT_EQ(CodeName(expected.error().code), CodeName(actual.error().code)) << name;
      EXPECT_EQ(expected.error().reason, actual.error().reason) << name;
    } else if constexpr (!std::is_void_v<typename decltype(expected)::value_type>) {
      const bool same = Plain(*expected) == Plain(*actual);
      EXPECT_TRUE(same) << name << " is answered differently";
      same_ = same_ && same;
    }
    return ValueOf(std::move(actual));
  }

  // Of one job, or of all.
  void Compare(std::optional<JobId> job) {
    const StoreState expected = Must(memory_.Dump(job, Bodies::kWith));
    const StoreState actual = Must(postgres_.Dump(job, Bodies::kWith));
    same_ = same_ && CompareStates(expected, actual);
    for (const JobDump& dump : actual.jobs) seen_.rested += !dump.rests.empty();
    for (const Breach& breach : CheckConservation(actual)) {
      ADD_FAILURE() << ToString(breach);
      same_ = false;
    }
  }

  static bool CompareStates(const StoreState& expected, const StoreState& actual) {
    if (expected == actual) return true;
    EXPECT_EQ(expected.sessions == actual.sessions, true) << "other sessions";
    EXPECT_EQ(expected.jobs.size(), actual.jobs.size());
    for (std::size_t i = 0; i < std::min(expected.jobs.size(), actual.jobs.size()); ++i) {
      const JobDump &a = expected.jobs[i], &b = actual.jobs[i];
      EXPECT_TRUE(a.job == b.job) << "another job";
      EXPECT_TRUE(a.packed == b.packed) << "others packed away";
      EXPECT_TRUE(a.chunks == b.chunks) << "other chunks";
      EXPECT_TRUE(a.leases == b.leases) << "other leases";
      EXPECT_TRUE(a.tries == b.tries) << "other tries";
      EXPECT_TRUE(a.rests == b.rests) << "others rest";
      EXPECT_TRUE(a.reports == b.reports) << "other reports";
      EXPECT_TRUE(a.stats == b.stats) << "other stats";
    }
    return false;
  }

  // Moments, or long enough for most retries, or for all.
  void PassTime() {
    const double dice = random_.Unit();
    const int most = dice < 0.5 ? 1000 : dice < 0.9 ? 5'000'000 : 100'000'000;
    now_us_ += 1 + Below(most);
    database_.SetClock(now_us_);
  }

  int Below(int bound) {
    return static_cast<int>(random_.Below(static_cast<std::uint64_t>(bound)));
  }
  bool Chance(double p) { return random_.Chance(p); }
  Duration Life() { return Chance(lossy_ ? 0.3 : 0.9) ? Duration(kLong) : Duration(kOver); }

  void Call() {
    // A job that runs comes first, or most calls would find nothing to do.
    if (started_ < 6) return Start();
    if (lossy_ && Chance(0.2)) return Reap();
    const int dice = Below(100);
    if (dice < 58) return TellAndAsk();
    if (dice < 64) return ChangeJob();
    if (dice < 68) return Grow();
    if (dice < 70) return Arrive();
    if (dice < 72) return Pack();
    if (dice < 74) return Create();
    if (dice < 80) return Reap();
    if (dice < 86) return Sweep();
    if (dice < 89) return Reopen();
    if (dice < 93) return RollUp();
    if (dice < 99) return Read();
    const Duration age = Chance(0.1) ? kOver : kLong;
    const auto dropped = Both("DropStale", [&](Store& store) { return store.DropStale(age); });
    if (dropped) seen_.dropped += *dropped;
  }

  void Start() {
    const JobId id{started_ / 3 + 1};
    const std::vector<int> lengths = {lossy_ ? 1 + Below(3) : 1 + Below(64), 1 + Below(20)};
    switch (started_++ % 3) {
      case 0:
        return Create();
      case 1:
        Both("AddPart", [&](Store& store) { return store.AddPart(id, PartOf(0, lengths, "a")); });
        return;
      default:
        Both("SealJob", [&](Store& store) { return store.SealJob(id, 1); });
    }
  }

  void Create() {
    JobShape shape{.retries = Below(3), .open = Chance(0.3)};
    shape.retry_wait = std::chrono::milliseconds(Chance(0.4) ? 0 : 1 + Below(20'000));
    shape.memory = Below(3);
    shape.memory_max = Chance(0.5) ? 0 : Below(16);
    shape.canary = Below(3);
    NewJob job = JobOf(std::to_string(Below(size_.jobs)), shape);
    if (Chance(0.5)) job.image_digest = "sha256:" + std::to_string(Below(3));
    if (Chance(0.2)) job.owner = "ann";
    if (!jobs_.empty() && Chance(0.2)) job.spec.wishes.after = {AnyJob()};
    if (Chance(0.1)) job.spec.wishes.labels = {{"zone", "a"}};
    const auto made = Both("CreateJob", [&](Store& store) { return store.CreateJob(job); });
    if (!made) return;
    jobs_.insert(made->id);
    named_.insert(made->id);
  }

  JobId AnyJob() {
    const JobId job = PickJob();
    if (jobs_.contains(job)) named_.insert(job);
    return job;
  }
  // One is kept busy to its end, and then another.
  JobId BusyJob() {
    const std::vector<RunnableJob> runnable = Must(memory_.ListRunnable(1));
    return runnable.empty() ? *jobs_.begin() : runnable.front().id;
  }
  JobId PickJob() {
    if (Chance(0.02)) return JobId{Below(20)};
    if (Chance(0.4)) return BusyJob();
    return *std::next(jobs_.begin(), Below(static_cast<int>(jobs_.size())));
  }

  void Grow() {
    const JobId id = AnyJob();
    const auto job = memory_.FindJob(id);
    const std::int32_t parts = job ? job->parts : 0;
    if (Chance(0.5)) {
      const std::int32_t count = Chance(0.9) ? parts : Below(4);
      Both("SealJob", [&](Store& store) { return store.SealJob(id, count); });
      return;
    }
    const std::int32_t number = Chance(0.8) ? parts : Below(5) - 1;
    NewPart part;
    if (Chance(0.2)) {
      part = RangeOf(number, 1 + Below(64));
    } else {
      std::vector<int> lengths;
      for (int i = Below(4); i > 0; --i) lengths.push_back(Chance(0.3) ? 1 : 1 + Below(64));
      part = PartOf(number, lengths, Chance(0.9) ? "a" : "b");
    }
    Both("AddPart", [&](Store& store) { return store.AddPart(id, part); });
  }

  // Items with marks of which there are few, or calls with a key; now and then time passes by days.
  void Arrive() {
    if (Chance(0.1)) {
      now_us_ += (16 + Below(4)) * Duration(std::chrono::hours(24)).count();
      database_.SetClock(now_us_);
      // All of them: which go first of those of one day is nobody's promise.
      const auto forgotten = Both<StandingStore>(
          "ForgetMarks", [](StandingStore& store) { return store.ForgetMarks(kMarkAge, 10'000); });
      if (forgotten) seen_.forgotten += *forgotten;
      return;
    }
    const JobId id = AnyJob();
    NewItems items;
    if (Chance(0.3)) {
      items.key = MarkOf(std::to_string(Below(5)));
      items.digest = Chance(0.9) ? "a" : "b";
      items.chunks = {{1 + Below(4), "items"}};
    } else {
      for (int i = Below(6); i >= 0; --i) {
        items.once.push_back(Chance(0.2) ? "" : MarkOf(std::to_string(Below(30))));
      }
      items.cut = [](const std::vector<std::size_t>& places) -> Result<std::vector<NewChunkItems>> {
        return std::vector<NewChunkItems>{{static_cast<std::int32_t>(places.size()), "items"}};
      };
    }
    const auto added = Both<StandingStore>(
        "AddItems", [&](StandingStore& store) { return store.AddItems(id, items); });
    if (added) seen_.arrived += added->added;
    if (added) seen_.known += added->known;
  }

  // Some of what is due is written, and some of what is written is packed.
  void Pack() {
    const JobId id = AnyJob();
    const auto job = memory_.FindJob(id);
    if (!job) return;
    const int limit = 1 + Below(4);
    const auto due = Both<LedgerStore>(
        "ListLedgerStats", [&](LedgerStore& store) { return store.ListLedgerStats(20); });
    if (!due) return;
    for (const ChunkStat& stat : *due) {
      if (Chance(0.2)) continue;
      Both<LedgerStore>("MarkLedgerStat",
                        [&](LedgerStore& store) { return store.MarkLedgerStat(stat); });
    }
    const std::int32_t written = Chance(0.8) ? job->chunks : Below(job->chunks + 1);
    Both<LedgerStore>("MarkLedgerItems",
                      [&](LedgerStore& store) { return store.MarkLedgerItems(id, written); });
    const PackAges ages{.done = Duration(Below(2'000'000)), .failed = Duration(Below(50'000'000))};
    Both<StandingStore>("ListPackable",
                        [&](StandingStore& store) { return store.ListPackable(ages, limit); });
    const auto packed = Both<StandingStore>(
        "PackChunks", [&](StandingStore& store) { return store.PackChunks(id, ages, limit); });
    if (packed) seen_.packed += packed->chunks;
  }

  void ChangeJob() {
    const JobId id = AnyJob();
    const std::string reason = Chance(0.5) ? "" : "reason " + std::to_string(Below(3));
    switch (Below(12)) {
      case 11: {
        const std::string digest = "sha256:" + std::to_string(Below(3));
        Both("PinImage", [&](Store& store) { return store.PinImage(id, digest); });
        return;
      }
      case 8:
        Both("EndTrial", [&](Store& store) { return store.EndTrial(id); });
        return;
      case 9:
        Both("PauseTrial", [&](Store& store) { return store.PauseTrial(id, reason); });
        return;
      case 10: {
        const int bytes = Below(8);
        Both("RaiseMemory", [&](Store& store) { return store.RaiseMemory(id, bytes); });
        return;
      }
      case 0:
        Both("CloseJob", [&](Store& store) { return store.CloseJob(id); });
        return;
      case 1:
        Both("PauseJob", [&](Store& store) { return store.PauseJob(id, reason); });
        return;
      case 2:
        if (Chance(0.5)) Both("CancelJob", [&](Store& store) { return store.CancelJob(id); });
        return;
      default:
        Both("ResumeJob", [&](Store& store) { return store.ResumeJob(id); });
    }
  }

  void Sweep() {
    const JobId id = AnyJob();
    const JobState before = memory_.FindJob(id) ? memory_.FindJob(id)->state : JobState::kDraft;
    const auto swept = Both("SweepJob", [&](Store& store) { return store.SweepJob(id); });
    if (!swept) return;
    seen_.revoked += static_cast<std::int64_t>(swept->revoked.size());
    if (swept->state == before) return;
    seen_.finished += swept->state == JobState::kFinished;
    seen_.cancelled += swept->state == JobState::kCancelled;
  }

  void Reopen() {
    const JobId id = AnyJob();
    ReopenWhich which;
    if (Chance(0.5)) {
      for (int i = Below(8); i >= 0; --i) which.items.push_back(Below(100) - 1);
    } else if (Chance(0.5)) {
      for (int i = Below(3); i >= 0; --i) which.failed_of[Below(3)] = Bits::All(1 + Below(30));
    }
    const auto reopened =
        Both("ReopenJob", [&](Store& store) { return store.ReopenJob(id, which); });
    if (reopened) seen_.reopened += reopened->items;
  }

  void RollUp() {
    const int limit = 1 + Below(4);
    const auto rolled =
        Both("RollUp", [&](Store& store) { return store.RollUp(limit, JoinBodies); });
    if (rolled) seen_.rolled += rolled->chunks;
  }

  void Reap() {
    const int limit = 1 + Below(4);
    const auto reaped = Both("Reap", [&](Store& store) { return store.Reap(limit); });
    if (!reaped) return;
    seen_.lost += reaped->items_lost;
    seen_.lost_limit += reaped->items_failed;
  }

  void Read() {
    const JobId id = AnyJob();
    const int limit = Below(6);
    switch (Below(15)) {
      case 13: {
        const auto records = Both("ListRecords", [](Store& store) { return store.ListRecords(); });
        if (records) seen_.blamed += !records->empty();
        return;
      }
      case 14:
        Both("AskStream", [ask = AnyStream(random_, id)](Store& s) { return s.AskStream(ask); });
        return;
      case 9:
        Both("CountJobs", [&](Store& store) { return store.CountJobs({id, {3}, {1}}); });
        return;
      case 10:
        Both("FindHistory", [&](Store& store) { return store.FindHistory({id, limit - 1}); });
        return;
      case 11:
        Both("ListOpenReports", [&](Store& store) { return store.ListOpenReports(id, limit); });
        return;
      case 12: {
        const SessionId after = Chance(0.5) ? SessionId{} : AnySession();
        const MachineFilter filter{
            .project = Chance(0.5) ? "" : "p", .after = after, .limit = limit};
        Both("ListMachines", [&](Store& store) { return store.ListMachines(filter); });
        return;
      }
      case 0:
        Both("CountItems", [&](Store& store) { return store.CountItems(id); });
        return;
      case 1: {
        JobFilter filter;
        if (Chance(0.5)) filter.before = id;
        if (Chance(0.5)) filter.state = static_cast<JobState>(Below(6));
        filter.limit = limit;
        Both("ListJobs", [&](Store& store) { return store.ListJobs(filter); });
        return;
      }
      case 2:
        Both("ListRunnable", [&](Store& store) { return store.ListRunnable(limit); });
        return;
      case 3:
        Both("ListSweepable", [&](Store& store) { return store.ListSweepable(limit); });
        return;
      case 4: {
        ChunkFilter filter;
        filter.from = Below(4);
        if (Chance(0.8)) filter.state = static_cast<ItemState>(Below(5));
        filter.limit = limit;
        Both("ListChunks", [&](Store& store) { return store.ListChunks(id, filter); });
        return;
      }
      case 5:
        Both("FindItems", [&](Store& store) { return store.FindItems({id, limit - 1}); });
        return;
      case 6:
        Both("ListStats", [&](Store& store) { return store.ListStats(id, limit / 2, limit); });
        return;
      case 7:
        Both("ListReports", [&](Store& store) { return store.ListReports({id, limit - 1}); });
        return;
      default:
        Both("ReadChange", [&](Store& store) { return store.ReadChange(); });
    }
  }

  SessionId AnySession() {
    if (sessions_.size() < size_.sessions || Chance(0.01)) {
      NewSession session;
      session.id = random_.NewId<SessionId>();
      // Now and then one that is there already, perhaps with another's key.
      session.machine = Chance(0.3) ? "m" + std::to_string(Below(4)) : "m-" + ToString(session.id);
      session.machine_key = Chance(0.9) ? "key" : "other key";
      session.project = Chance(0.9) ? "p" : "q";
      session.token = kToken;
      session.pool = Chance(0.5) ? "a" : "b";
      session.shape = {Below(9), Below(9), {}};
      session.life = Life();
      Both("Join", [&](Store& store) { return store.Join(session); });
      sessions_.push_back(session.id);
    }
    const SessionId id = sessions_[random_.Below(sessions_.size())];
    if (Chance(0.003)) {
      const std::string project = Chance(0.5) ? "" : "p";
      Both("Drain", [&](Store& store) { return store.Drain(id, project); });
    }
    if (Chance(0.002)) Both("PutAside", [&](Store& store) { return store.PutAside(id, "why"); });
    return id;
  }

  Bits SomeOf(const Bits& bits, double p) {
    Bits some(limits::kItemsPerChunk);
    for (const int i : bits.Indexes()) {
      if (Chance(p)) some.Set(i);
    }
    return some;
  }

  // The truth, mostly: a report about what the lease owes.
  Settlement Says(Held& held) {
    Settlement settlement;
    settlement.lease = held.lease.id;
    settlement.seq = Chance(0.95) ? held.next_seq++ : Below(4) - 1;
    const Bits all = Bits::All(held.lease.mine.length());
    const Bits& about = Chance(0.95) ? held.lease.mine : all;
    const double ok = Chance(0.4) ? 1 : random_.Unit();
    settlement.ok = SomeOf(about, Chance(0.8) ? ok : 0);
    Bits left = about - settlement.ok.Resized(about.length());
    const auto take = [&](double p) {
      const Bits some = SomeOf(left, p);
      left -= some.Resized(left.length());
      return some;
    };
    settlement.failed = take(Chance(0.5) ? 0.7 : 0);
    settlement.final = SomeOf(settlement.failed, Chance(0.1) ? 0.3 : 0);
    settlement.memory = take(Chance(0.3) ? 0.5 : 0);
    settlement.back = take(Chance(0.3) ? 0.5 : 0);
    settlement.begun = SomeOf(settlement.back, Chance(0.5) ? 0.5 : 0);
    // Lies: past the end, in two ways, final but not failed, begun but not back.
    if (Chance(0.02)) settlement.ok.Set(Below(limits::kItemsPerChunk));
    if (Chance(0.01)) settlement.memory |= settlement.failed;
    if (Chance(0.01)) settlement.final = settlement.ok;
    if (Chance(0.01)) settlement.begun = settlement.ok;
    settlement.body = "s" + std::to_string(seen_.calls);
    if (Chance(0.01)) settlement.body.resize(5000);  // too large for a few items
    return settlement;
  }

  SyncOrder RandomSync() {
    SyncOrder order;
    order.session = AnySession();
    order.token = Chance(0.98) ? kToken : "another's";
    order.spare = "spare";
    order.life = Life();
    order.leaving = Chance(0.02);
    if (Chance(0.3)) order.status = MachineStatus{"e", Chance(0.5), {{AnyJob(), Below(9), 5, 6}}};
    if (Chance(0.2)) order.troubles = {{AnyJob(), "one"}, {AnyJob(), "two"}};
    for (auto& [id, held] : held_) {
      const bool mine = held.lease.session == order.session;
      if (mine ? Chance(0.95) : Chance(0.01)) order.known.push_back(id);
      if (mine ? Chance(lossy_ ? 0.1 : 0.5) : Chance(0.02)) order.settlements.push_back(Says(held));
    }
    if (!order.known.empty() && Chance(0.05)) order.known.push_back(order.known.front());
    if (!order.settlements.empty() && Chance(0.05)) {
      order.settlements.push_back(order.settlements.front());
    }
    for (int i = Below(4); i > 0; --i) {
      const std::int64_t room = Chance(0.4) ? 0 : Below(12);
      const auto worn = Chance(0.7) ? WornItems::kAlso : static_cast<WornItems>(Below(3));
      order.asks.push_back({AnyJob(), Chance(0.1) ? 100 : Below(12), random_.NewId<LeaseId>(),
                            Below(4), room, worn});
    }
    return order;
  }

  void TellAndAsk() {
    Exchange exchange;
    for (int i = Below(6); i >= 0; --i) {
      exchange.syncs.push_back(Chance(0.05) && !exchange.syncs.empty() ? exchange.syncs.front()
                                                                       : RandomSync());
      // The same id twice is the server's bug, not an agent's.
      for (Ask& ask : exchange.syncs.back().asks) ask.lease = random_.NewId<LeaseId>();
    }
    for (const JobId job : jobs_) {
      if (Chance(0.5)) exchange.cursors[job] = Below(7) - 1;
    }
    const auto result = Both("Run", [&](Store& store) { return store.Run(exchange); });
    if (result) Learn(exchange, *result);
    // An answer that was lost: the same again.
    if (Chance(0.1)) Both("Run again", [&](Store& store) { return store.Run(exchange); });
  }

  void Learn(const Exchange& exchange, const ExchangeResult& result) {
    seen_.outcomes += result.outcomes;
    seen_.troubles += static_cast<std::int64_t>(result.troubles.size());
    for (std::size_t i = 0; i < result.syncs.size(); ++i) {
      const SyncResult& sync = result.syncs[i];
      seen_.refused += static_cast<std::int64_t>(sync.refused.size());
      // Stale ones are kept now and then, to be lied with.
      for (const LeaseId& id : sync.gone) {
        if (Chance(0.8)) held_.erase(id);
      }
      if (sync.lost && Chance(0.9)) std::erase(sessions_, exchange.syncs[i].session);
      for (const Grant& grant : sync.grants) {
        seen_.given_again += held_.contains(grant.lease.id);
        seen_.retried += grant.lease.tried;
        const std::vector<Ask>& asks = exchange.syncs[i].asks;
        seen_.worn += std::any_of(asks.begin(), asks.end(), [&](const Ask& ask) {
          return ask.lease == grant.lease.id && ask.worn == WornItems::kOnly;
        });
        for (const ItemTry& tried : grant.tries) seen_.larger += tried.steps > 0;
        held_[grant.lease.id].lease = grant.lease;
      }
    }
  }

  SeededRandom random_;
  const WorldSize size_;
  std::int64_t now_us_ = 1'700'000'000'000'000;
  MemoryStore memory_{[this] { return now_us_; }};
  TestDatabase& database_;
  PostgresStore& postgres_;
  DifferentialSeen& seen_;
  const bool lossy_;  // a world in which machines vanish all the time
  bool same_ = true;
  std::string last_;
  std::int64_t calls_ = 0;
  std::set<JobId> named_;  // by the last call
  int started_ = 0;
  std::set<JobId> jobs_;
  std::vector<SessionId> sessions_;
  std::map<LeaseId, Held> held_;
};

TEST(Differential, BothStoresAnswerAlikeWhateverTheyAreTold) {
  const bool is_long = Setting("TIDEMILL_DIFF_LONG", 0) != 0;
  const WorldSize size = is_long ? kLongWorlds : kShortWorlds;
  const auto calls =
      static_cast<std::int64_t>(Setting("TIDEMILL_DIFF_CALLS", is_long ? 100'000 : 20'000));
  SystemRandom system;
  std::uint64_t seed = Setting("TIDEMILL_DIFF_SEED", system.Next());
  TestDatabase& database = StillDatabase();
  DifferentialSeen seen;
  PostgresStore postgres({database.conninfo(), 1});
  for (; seen.calls < calls; ++seed) {
    database.Clean();
    Differential world(seed, size, database, postgres, seen);
    for (std::int64_t call = 1; call <= size.calls && seen.calls < calls; ++call) {
      ASSERT_TRUE(world.Step()) << "at call " << call << " (" << world.last() << ") of "
                                << (is_long ? "TIDEMILL_DIFF_LONG=1 " : "")
                                << "TIDEMILL_DIFF_SEED=" << seed;
    }
  }
  std::cout << seen.calls << " calls up to seed " << seed << ": outcomes " << seen.outcomes
            << ", refused " << seen.refused << ", given again " << seen.given_again << ", revoked "
            << seen.revoked << ", lost " << seen.lost << " (too often " << seen.lost_limit
            << "), finished " << seen.finished << ", cancelled " << seen.cancelled << ", reopened "
            << seen.reopened << ", rolled up " << seen.rolled << ", dropped " << seen.dropped
            << ", troubles " << seen.troubles << ", retried " << seen.retried << " (with more "
            << seen.larger << "), blamed " << seen.blamed << ", suspects asked for " << seen.worn
            << ", arrived " << seen.arrived << " (known " << seen.known << ", forgotten "
            << seen.forgotten << ", chunks packed " << seen.packed << ")\n";
  if (calls < 20'000) return;
  for (const std::int64_t rare :
       {seen.outcomes, seen.refused,   seen.given_again, seen.revoked,   seen.lost_limit,
        seen.finished, seen.cancelled, seen.reopened,    seen.rolled,    seen.dropped,
        seen.troubles, seen.retried,   seen.larger,      seen.rested,    seen.blamed,
        seen.worn,     seen.arrived,   seen.known,       seen.forgotten, seen.packed}) {
    EXPECT_GT(rare, 0) << "the calls no longer come to everything";
  }
}

}  // namespace
}  // namespace tidemill
