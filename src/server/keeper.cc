// SPDX-License-Identifier: Apache-2.0
#include "server/keeper.h"

#include <utility>

#include "base/limits.h"
#include "lease/blame.h"
#include "report/roll_up.h"
#include "server/outcomes.h"
#include "store/check.h"

namespace tidemill {
namespace {

// Jobs with free items that a server keeps in mind; the rest wait until some of these are done.
constexpr int kBoardJobs = 1000;
// Jobs swept in one round.
constexpr int kSweepJobs = 50;

// Looks at the machines and puts those aside that are to be. Answers which.
Result<std::vector<MachineRecord>> PutBadAside(Store& store) {
  TIDEMILL_TRY(const std::vector<Record> records, store.ListRecords());
  std::vector<MachineRecord> machines;
  for (const Record& record : records) {
    machines.push_back({record.session, record.project + "/" + record.pool, record.attempts,
                        record.blamed, record.aside});
  }
  std::vector<MachineRecord> bad = ToPutAside(std::move(machines));
  for (const MachineRecord& machine : bad) {
    TIDEMILL_TRY_VOID(store.PutAside(machine.session, AsideReason(machine)));
  }
  return bad;
}

// Open jobs that are looked at in one round, and chunks of each that are packed in one transaction:
// some 50 ms.
constexpr int kPackJobs = 100;
constexpr int kPackChunks = 500;
// Marks forgotten in one transaction, and such transactions in a round.
constexpr int kForgetMarks = 5000;
constexpr int kForgetSteps = 20;

// Answers whether there may be more.
Result<bool> PackSome(StandingStore& standing, const PackAges& ages) {
  TIDEMILL_TRY(const std::vector<JobId> jobs, standing.ListPackable(ages, kPackJobs));
  bool more = false;
  for (const JobId job : jobs) {
    TIDEMILL_TRY(const PackedAway packed, standing.PackChunks(job, ages, kPackChunks));
    more = more || packed.chunks == kPackChunks;
  }
  return more;
}

Result<void> ForgetOld(StandingStore& standing) {
  for (int step = 0; step < kForgetSteps; ++step) {
    TIDEMILL_TRY(const std::int64_t forgotten, standing.ForgetMarks(kMarkAge, kForgetMarks));
    if (forgotten == 0) break;
  }
  return {};
}

RollUpText RollUpReports(const Chunk& chunk, const std::vector<Report>& reports) {
  RolledReports rolled = tidemill::RollUp(chunk.first_item, ToRoll(reports));
  return {std::move(rolled.block), std::move(rolled.summary)};
}

}  // namespace

Keeper::Keeper(ServerDeps deps, const ServerLimits& limits, JobBoard& board, Events events)
    : deps_(deps),
      limits_(limits),
      board_(board),
      events_(std::move(events)),
      guard_(deps.loop.Now(), limits.session_life) {}

Keeper::~Keeper() {
  for (const TimerId timer : timers_) deps_.loop.Cancel(timer);
}

void Keeper::Start() {
  Repeat(limits_.poll_every, [this](auto done) { Poll(std::move(done)); });
  Repeat(limits_.reap_every, [this](auto done) { Reap(std::move(done)); });
  Repeat(limits_.blame_every, [this](auto done) { Blame(std::move(done)); });
  Repeat(limits_.sweep_every, [this](auto done) { Sweep(std::move(done)); });
  Repeat(limits_.roll_up_every, [this](auto done) { RollUp(std::move(done)); });
  if (deps_.standing != nullptr) {
    Repeat(limits_.pack_every, [this](auto done) { Pack(std::move(done)); });
  }
  Repeat(limits_.tidy_every, [this](auto done) { Tidy(std::move(done)); });
}

// Servers that start together do not stay together: the first delay is a random part of the period.
void Keeper::Repeat(Duration period, Step step) {
  const auto share = deps_.random.Below(static_cast<std::uint64_t>(period.count()) + 1);
  Again(Duration(static_cast<std::int64_t>(share)), period, std::move(step));
}

void Keeper::Again(Duration delay, Duration period, Step step) {
  if (stopped_) return;
  // The timer's own id is known only after it is made.
  auto own = std::make_shared<TimerId>();
  *own = deps_.loop.After(delay, [this, own, period, step = std::move(step)] {
    timers_.erase(*own);
    if (stopped_) return;
    step([this, period, step](bool at_once) {
      Again(at_once ? Duration::zero() : period, period, step);
    });
  });
  timers_.insert(*own);
}

void Keeper::Trouble(const char* step, const Error& error) {
  if (error.code == Code::kInternal) {
    deps_.log.Error("keeper.failed", {{"step", step}, {"reason", error.reason}});
  } else {
    deps_.log.Warn("keeper.failed", {{"step", step}, {"reason", error.reason}});
  }
}

void Keeper::WorkFreed() {
  refresh_wanted_ = true;
  announce_wanted_ = true;
}

void Keeper::SweepSoon(JobId job) { to_sweep_.insert(job); }

void Keeper::Poll(std::function<void(bool)> done) {
  const bool announce = std::exchange(announce_wanted_, false);
  OnStore(
      deps_,
      [announce](Store& store) -> Result<ChangeMark> {
        if (announce) TIDEMILL_TRY_VOID(store.Announce());
        return store.ReadChange();
      },
      [this, announce, done = std::move(done)](Result<ChangeMark> mark) mutable {
        if (!mark) {
          announce_wanted_ |= announce;
          Trouble("poll", mark.error());
          done(false);
          return;
        }
        const TimePoint now = deps_.loop.Now();
        guard_.Heard(now, mark->clock_us);
        events_.followed(mark->followed);
        events_.streams(mark->streams);
        const bool changed = std::exchange(seen_change_, mark->seq) != mark->seq;
        const bool planned = std::exchange(seen_plan_, mark->plan_seq) != mark->plan_seq;
        if (changed) events_.changed();
        const bool in_use = events_.agents_wait() || board_.free_items() > 0;
        const bool late = in_use && now - refreshed_ >= limits_.refresh_every;
        refresh_wanted_ |= changed || planned || late;
        if (refresh_wanted_ && !refreshing_ && now >= refresh_not_before_) Refresh();
        done(false);
      });
}

// With very many jobs it takes long; then it comes less often, so that it never takes more than a
// tenth of the time.
void Keeper::Refresh() {
  refreshing_ = true;
  refresh_wanted_ = false;
  refreshed_ = deps_.loop.Now();
  std::set<JobId> known;
  for (const auto& [job, need] : needs_) known.insert(job);
  const std::int64_t number = board_.book().BeginLook();
  OnStore(
      deps_,
      [plans = deps_.plans, known = std::move(known)](Store& store) {
        return TakeLook(store, plans, known);
      },
      [this, number](Result<Look> look) {
        const TimePoint now = deps_.loop.Now();
        refreshing_ = false;
        refresh_not_before_ = now + 9 * (now - refreshed_);
        if (!look) {
          refresh_wanted_ = true;
          Trouble("refresh", look.error());
          return;
        }
        UseLook(*std::move(look), number);
      });
}

Result<Keeper::Look> Keeper::TakeLook(Store& store, PlanStore* plans,
                                      const std::set<JobId>& known) {
  Look look;
  TIDEMILL_TRY(look.jobs, store.ListRunnable(kBoardJobs));
  if (plans == nullptr) return look;
  TIDEMILL_TRY(look.plan, plans->ReadPlan());
  for (const RunnableJob& job : look.jobs) look.needs[job.id] = job.resources;
  for (const SessionUse& use : look.plan->uses) {
    for (const auto& [id, owed] : use.owed) {
      if (known.contains(id) || look.needs.contains(id)) continue;
      const auto job = store.FindJob(id);
      if (!job) continue;
      look.needs[id] = job->spec.resources;
      look.needs[id].memory_bytes = job->memory_bytes;
    }
  }
  return look;
}

void Keeper::UseLook(Look look, std::int64_t number) {
  std::vector<BoardJob> board;
  for (const RunnableJob& job : look.jobs) {
    board.push_back({job.id, job.project, job.resources, job.free_items + job.retries_due,
                     job.memory_max, job.trial});
  }
  board_.SetJobs(std::move(board));
  for (auto& [job, need] : look.needs) needs_.insert_or_assign(job, std::move(need));
  if (look.plan) UsePlan(*std::move(look.plan), number);
  if (board_.free_items() > 0) events_.new_work();
}

void Keeper::UsePlan(PlanInForce plan, std::int64_t number) {
  std::set<JobId> running;
  for (const SessionUse& use : plan.uses) {
    for (const auto& [job, owed] : use.owed) running.insert(job);
  }
  std::erase_if(needs_, [&running](const auto& entry) { return !running.contains(entry.first); });
  board_.book().Set(
      std::move(plan), number, [this](JobId job) -> std::optional<PlanBook::JobFacts> {
        const auto need = needs_.find(job);
        if (need == needs_.end()) return std::nullopt;
        return PlanBook::JobFacts{need->second, board_.ItemMs(job), board_.HasFree(job)};
      });
  const std::vector<SessionId> asked = board_.book().ToBeTold();
  if (!asked.empty()) events_.asked_back(asked);
}

void Keeper::Reap(std::function<void(bool)> done) {
  events_.tick();
  if (!guard_.MayReap(deps_.loop.Now())) {
    done(false);
    return;
  }
  OnStore(
      deps_, [](Store& store) { return store.Reap(limits::kReapSessions); },
      [this, done = std::move(done)](Result<Reaped> reaped) {
        if (!reaped) {
          AgentsUnheard();
          Trouble("reap", reaped.error());
          done(false);
          return;
        }
        if (!reaped->sessions.empty()) {
          deps_.log.Warn("session.reaped", {{"sessions", reaped->sessions.size()},
                                            {"items_lost", reaped->items_lost},
                                            {"items_failed", reaped->items_failed}});
        }
        for (const JobId job : reaped->jobs) SweepSoon(job);
        if (!reaped->jobs.empty()) WorkFreed();
        done(static_cast<int>(reaped->sessions.size()) == limits::kReapSessions);
      });
}

void Keeper::Blame(std::function<void(bool)> done) {
  OnStore(deps_, PutBadAside,
          [this, done = std::move(done)](Result<std::vector<MachineRecord>> aside) {
            if (!aside) {
              Trouble("blame", aside.error());
              return done(false);
            }
            for (const MachineRecord& machine : *aside) {
              deps_.log.Warn("machine.aside", {{"session", ToString(machine.session)},
                                               {"reason", AsideReason(machine)}});
              events_.put_aside(machine.session);
            }
            done(false);
          });
}

void Keeper::Sweep(std::function<void(bool)> done) {
  OnStore(
      deps_, [](Store& store) { return store.ListSweepable(kSweepJobs); },
      [this, done = std::move(done)](Result<std::vector<JobId>> jobs) mutable {
        if (!jobs) {
          Trouble("sweep", jobs.error());
          done(false);
          return;
        }
        std::set<JobId> all = std::exchange(to_sweep_, {});
        all.insert(jobs->begin(), jobs->end());
        SweepJobs(std::vector<JobId>(all.begin(), all.end()), false, std::move(done));
      });
}

// One step of the last job, then the others. If one needs more steps, the next round comes at once.
void Keeper::SweepJobs(std::vector<JobId> jobs, bool again, std::function<void(bool)> done) {
  if (jobs.empty()) {
    done(again);
    return;
  }
  const JobId job = jobs.back();
  jobs.pop_back();
  OnStore(
      deps_, [job](Store& store) { return store.SweepJob(job); },
      [this, jobs = std::move(jobs), again, done = std::move(done)](Result<Swept> swept) mutable {
        if (!swept) {
          if (swept.error().code != Code::kNotFound) Trouble("sweep", swept.error());
        } else {
          again = again || swept->again;
          if (!swept->revoked.empty()) events_.lost_leases(swept->revoked);
        }
        SweepJobs(std::move(jobs), again, std::move(done));
      });
}

void Keeper::RollUp(std::function<void(bool)> done) {
  OnStore(
      deps_, [](Store& store) { return store.RollUp(limits::kRollUpChunks, RollUpReports); },
      [this, done = std::move(done)](Result<RolledUp> rolled) {
        if (!rolled) Trouble("roll_up", rolled.error());
        done(rolled && rolled->chunks == limits::kRollUpChunks);
      });
}

void Keeper::Pack(std::function<void(bool)> done) {
  OnStore(
      deps_,
      [standing = deps_.standing, ages = PackAges{limits_.pack_age, limits_.pack_failed_age}](
          Store&) { return PackSome(*standing, ages); },
      [this, done = std::move(done)](Result<bool> more) {
        if (!more) Trouble("pack", more.error());
        done(more && *more);
      });
}

void Keeper::Tidy(std::function<void(bool)> done) {
  OnStore(
      deps_,
      [&access = deps_.access, standing = deps_.standing,
       age = limits_.audit_age](Store& store) -> Result<std::vector<Breach>> {
        if (standing != nullptr) TIDEMILL_TRY_VOID(ForgetOld(*standing));
        TIDEMILL_TRY_VOID(store.DropStale(limits::kStaleAge));
        TIDEMILL_TRY_VOID(access.DropOldAccess(age));
        return CheckLiveJobs(store);
      },
      [this, done = std::move(done)](Result<std::vector<Breach>> breaches) {
        if (!breaches) {
          Trouble("tidy", breaches.error());
        } else {
          for (const Breach& breach : *breaches) {
            deps_.log.Error("conservation.broken", {{"id", breach.id}, {"breach", breach.what}});
          }
        }
        done(false);
      });
}

}  // namespace tidemill
