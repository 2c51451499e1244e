// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "report/summary.h"
#include "store/check.h"

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::int64_t kBeginUs = 1'700'000'000'000'000;  // some day of 2023
// Enough for every session to be given up, every item to be lost and tried again, and all to be
// run.
constexpr Duration kHealTime = hours(4);

std::string MemoryDocument(const PlannedJob& job) {
  return R"({"resources":{"memory":{"start":)" + std::to_string(job.memory_bytes) + R"(,"max":)" +
         std::to_string(job.memory_max) + "}}}";
}

}  // namespace

void World::WorldLog::Write(std::string_view level, std::string_view event, Fields fields) {
  if (level != "error") return;
  std::string what(event);
  for (const LogField& field : fields) what += " " + std::string(field.key) + "=" + field.text;
  world_.Breach(SimVerdict::kSafety, what);
}

World::UpServer::UpServer(World& world, std::uint64_t number)
    : random(world.plan_.seed + number, "server"),
      worker(world.loop_, random),
      server({world.loop_, worker, worker, world.faulty_, world.store_, random, world.log_,
              &world.store_},
             world.plan_.limits) {
  server.Start();
}

World::UpAgent::UpAgent(World& world, const Script& script, int number)
    : random(world.plan_.seed + static_cast<std::uint64_t>(number), "agent"),
      agent({world.loop_, world.link_, random, world.totals_, world.gossip_}, script,
            "machine-" + std::to_string(number)) {
  agent.Start();
}

World::World(const SimPlan& plan)
    : plan_(plan),
      order_random_(plan.seed, "order"),
      fault_random_(plan.seed, "fault"),
      network_random_(plan.seed, "network"),
      person_random_(plan.seed, "person"),
      loop_(order_random_),
      store_([this] { return ClockUs(); }),
      faulty_(store_, fault_random_, [this] { CheckNow(); }),
      log_(*this),
      network_faults_(plan.network_faults),
      machine_faults_(plan.machine_faults),
      link_(loop_, network_random_, network_faults_, [this] { return PickServer(); }),
      servers_(static_cast<std::size_t>(plan.servers)) {
  NewToken token;
  token.kind = TokenKind::kJoin;
  token.secret = plan.script.join_token;
  token.project = kDefaultProject;
  token.pool = kDefaultPool;
  token.life = std::chrono::hours(1000);
  TIDEMILL_CHECK(store_.CreateToken(token).has_value());
}

World::~World() = default;

std::int64_t World::ClockUs() const { return kBeginUs + loop_.Now().time_since_epoch().count(); }

void World::Breach(SimVerdict verdict, const std::string& what) {
  if (outcome_.verdict != SimVerdict::kGood) return;
  outcome_.verdict = verdict;
  outcome_.what = what + " (at " + std::to_string(loop_.Now().time_since_epoch().count() / 1000) +
                  " ms, step " + std::to_string(loop_.steps()) + ")";
}

SimOutcome World::Run() {
  faulty_.SetFaults(plan_.store_faults);
  for (std::size_t i = 0; i < servers_.size(); ++i) StartServer(i);
  StartAgents(plan_.script, plan_.agents);
  for (int i = 0; i < plan_.machines; ++i) {
    machines_.push_back(std::make_unique<SimMachine>(
        SimMachine::Deps{loop_, link_, log_, machine_faults_}, plan_.script, plan_.seed, i));
  }
  for (std::size_t i = 0; i < plan_.jobs.size(); ++i) {
    loop_.After(plan_.jobs[i].begins, [this, i] { Submit(plan_.jobs[i], i); });
  }
  loop_.After(seconds(1), [this] { EverySecond(); });
  RunUntil(loop_.Now() + plan_.chaos);
  Heal();
  const TimePoint end = loop_.Now() + kHealTime;
  while (outcome_.verdict == SimVerdict::kGood && loop_.Now() < end && !AllOver()) {
    ResumePaused();
    RunUntil(std::min(end, loop_.Now() + seconds(5)));
  }
  if (outcome_.verdict == SimVerdict::kGood && !AllOver()) {
    Breach(SimVerdict::kLiveness, "a job did not end");
  }
  // What is done must still become a block.
  RunUntil(loop_.Now() + seconds(60));
  CheckEnds();
  outcome_.steps = loop_.steps();
  outcome_.totals = totals_;
  return outcome_;
}

void World::RunUntil(TimePoint end) {
  bool over = false;
  loop_.After(end - loop_.Now(), [&over] { over = true; });
  while (!over && outcome_.verdict == SimVerdict::kGood) {
    TIDEMILL_CHECK(loop_.Step());
    outcome_.trace =
        (outcome_.trace ^ static_cast<std::uint64_t>(loop_.Now().time_since_epoch().count())) *
        0x100000001b3;
  }
}

void World::StartServer(std::size_t place) {
  servers_[place] = std::make_unique<UpServer>(*this, starts_++);
}

Server* World::PickServer() {
  std::vector<Server*> up;
  for (const auto& server : servers_) {
    if (server) up.push_back(&server->server);
  }
  return up.empty() ? nullptr : up[order_random_.Below(up.size())];
}

void World::StartAgents(const Script& script, int count) {
  for (int i = 0; i < count; ++i) {
    const int number = static_cast<int>(starts_++);
    agents_.push_back(std::make_unique<UpAgent>(*this, script, number));
  }
}

void World::Insist(std::function<bool()> call) {
  if (call()) return;
  loop_.After(seconds(1), [this, call = std::move(call)] { Insist(call); });
}

// As a client does it: each call again until it is answered, with the same key and part numbers.
void World::Submit(const PlannedJob& planned, std::size_t number) {
  Insist([this, &planned, number] {
    NewJob job;
    job.project = "default";
    job.key = "job-" + std::to_string(number);
    job.spec.name = "sim";
    job.spec.retries = planned.retries;
    job.spec.document = "{}";
    if (planned.memory_bytes > 0) {
      job.spec.resources.memory_bytes = planned.memory_bytes;
      job.spec.memory_max = planned.memory_max;
      job.spec.document = MemoryDocument(planned);
    }
    const Result<Job> created = faulty_.CreateJob(job);
    if (!created) return false;
    for (std::size_t i = 0; i < planned.parts.size(); ++i) {
      const NewPart part{.number = static_cast<std::int32_t>(i),
                         .digest = "part",
                         .chunks = {{planned.parts[i], {}}}};
      if (!faulty_.AddPart(created->id, part)) return false;
    }
    if (!faulty_.SealJob(created->id, static_cast<std::int32_t>(planned.parts.size())))
      return false;
    jobs_.push_back(created->id);
    ++submitted_;
    return true;
  });
}

void World::EverySecond() {
  loop_.After(seconds(1), [this] { EverySecond(); });
  if (!chaos_) return;
  for (const auto& machine : machines_) machine->EverySecond();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i] && fault_random_.Chance(plan_.crash_chance)) {
      servers_[i].reset();
      loop_.After(seconds(1 + fault_random_.Below(20)), [this, i] {
        if (!servers_[i]) StartServer(i);
      });
    }
  }
  if (!jobs_.empty() && person_random_.Chance(plan_.person_chance)) Meddle();
}

void World::Meddle() {
  const JobId job = jobs_[person_random_.Below(jobs_.size())];
  switch (person_random_.Below(5)) {
    case 0:
      (void)faulty_.PauseJob(job, "");
      break;
    case 1:
    case 2:
      (void)faulty_.ResumeJob(job);
      break;
    case 3:
      (void)faulty_.ReopenJob(job, {});
      break;
    default:
      if (person_random_.Chance(0.3)) (void)faulty_.CancelJob(job);
  }
}

// All faults end. The played agents of before are gone without a word; as many honest ones come.
void World::Heal() {
  chaos_ = false;
  faulty_.SetFaults({});
  network_faults_ = {};
  machine_faults_ = {};
  for (const auto& machine : machines_) machine->Heal();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i]) StartServer(i);
  }
  agents_.clear();
  Script honest = plan_.script;
  honest.repeats = honest.lies = honest.gives_back = honest.comes_late = 0;
  honest.vanishes = honest.leaves = 0;
  StartAgents(honest, plan_.agents);
}

// As a person would: an agent's last word about a job that it could not run may come late.
void World::ResumePaused() {
  for (const JobId job : jobs_) {
    const Result<Job> found = store_.FindJob(job);
    if (found && found->state == JobState::kPaused) (void)store_.ResumeJob(job);
  }
}

bool World::AllOver() {
  if (submitted_ < plan_.jobs.size()) return false;
  return std::all_of(jobs_.begin(), jobs_.end(), [this](JobId id) {
    const Result<Job> job = store_.FindJob(id);
    return job && (job->state == JobState::kFinished || job->state == JobState::kCancelled);
  });
}

void World::CheckNow() {
  const Result<StoreState> state = store_.Dump(std::nullopt, Bodies::kWithout);
  for (const std::string& breach : CheckConservation(*state)) Breach(SimVerdict::kSafety, breach);
  CheckNothingTakenBack(*state);
}

// Within a round, what is done stays done, and what it was.
void World::CheckNothingTakenBack(const StoreState& state) {
  for (const JobDump& dump : state.jobs) {
    for (const StoredChunk& stored : dump.chunks) {
      const Chunk& now = stored.chunk;
      const auto [seen, fresh] = last_seen_.try_emplace(now.key, now);
      Chunk& before = seen->second;
      if (!fresh && before.round == now.round) {
        const bool kept =
            now.done.Contains(before.done) && (now.failed & before.done) == before.failed;
        if (!kept) Breach(SimVerdict::kSafety, "an outcome was taken back");
      }
      before = now;
    }
  }
}

void World::CheckEnds() {
  if (outcome_.verdict != SimVerdict::kGood) return;
  CheckNow();
  const Result<StoreState> state = store_.Dump(std::nullopt, Bodies::kWith);
  for (const JobDump& dump : state->jobs) CheckEnd(dump);
}

// Items that fail whenever they are run, or need more memory than there is, cannot have succeeded;
// no other can have failed but by being lost with too many machines.
void World::CheckEnd(const JobDump& dump) {
  if (dump.job.state != JobState::kFinished) return;
  std::map<std::int64_t, ItemTry> tries;
  for (const ItemTry& item_try : dump.tries) tries[item_try.item] = item_try;
  std::int64_t unexpected = 0;
  for (const StoredChunk& stored : dump.chunks) {
    const Chunk& chunk = stored.chunk;
    if (!stored.rolled) Breach(SimVerdict::kLiveness, "a finished chunk was not rolled up");
    for (int i = 0; i < chunk.length(); ++i) {
      const std::int64_t item = chunk.first_item + i;
      const std::int64_t most = dump.job.spec.memory_max;
      const bool is_too_large = most > 0 && MemoryOf(plan_.script, item) > most;
      const bool fails = is_too_large || ItemFails(plan_.script, item);
      if (fails && !chunk.failed.Get(i)) Breach(SimVerdict::kSafety, "a success was invented");
      if (!fails && chunk.failed.Get(i)) ++unexpected;
      const ItemTry& tried = tries[item];
      if (fails && !is_too_large && tried.lost < limits::kMaxLost &&
          tried.attempts != dump.job.spec.retries + 1) {
        Breach(SimVerdict::kSafety, "an item was given up before, or tried after, its last retry");
      }
    }
  }
  std::int64_t lost = 0;
  for (const ChunkStat& stat : dump.stats) {
    const Result<Summary> summary = Summary::Decode(stat.summary);
    if (!summary) {
      Breach(SimVerdict::kSafety, "a summary cannot be read: " + summary.error().reason);
      continue;
    }
    lost += summary->outcomes[static_cast<std::size_t>(Cause::kLost)];
    if (summary->unreadable > 0) Breach(SimVerdict::kSafety, "an attempt has no row");
  }
  if (unexpected > lost) Breach(SimVerdict::kSafety, "a failure was invented");
}

SimOutcome Simulate(std::uint64_t seed) { return World(DrawPlan(seed)).Run(); }

}  // namespace tidemill
