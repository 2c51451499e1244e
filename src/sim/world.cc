// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kBeginUs = 1'700'000'000'000'000;  // some day of 2023
// Enough for every session to be given up, every item to be lost and tried again, and all to be
// run.
constexpr Duration kHealTime = hours(12);
// Jobs that have a budget are given so long of it.
constexpr Duration kPoorTime = hours(3);
// For what is done to become a block.
constexpr Duration kRollUpTime = seconds(60);
// For machines to be drained and ended when nothing is left to do: some may have been ordered a
// moment ago, and take their time to join or not to.
constexpr Duration kEmptyTime = minutes(30);
// Seconds between looks at the jobs as a whole.
constexpr std::int64_t kJobsEvery = 10;
// The same of machines, when there are no faults: what is wrong then is so for minutes.
constexpr std::int64_t kFleetEvery = 5;
constexpr char kProvider[] = "cloud";

AgentLimits LimitsOf(const SimPlan& plan) {
  AgentLimits limits;
  limits.tick = plan.agent_tick;
  return limits;
}

}  // namespace

void World::WorldLog::Write(std::string_view level, std::string_view event, Fields fields) {
  // Machines whose disk is full ask for a person, and are right.
  if (level != "error" || event == "machine.fault") return;
  std::string what(event);
  for (const LogField& field : fields) what += " " + std::string(field.key) + "=" + field.text;
  world_.Breach(SimVerdict::kSafety, "S00", what);
}

World::UpServer::UpServer(World& world, std::uint64_t number)
    : loop(world.loop_),
      random(world.plan_.seed + number, "server"),
      worker(loop, random),
      provider({.loop = loop,
                .provider = world.cloud_.provider(),
                .dice = world.cloud_dice_,
                .faults = world.faults_.cloud,
                .on_end =
                    [&world](const PoolSettings& pool, std::vector<std::string> names) {
                      if (Planted(Plant::kEndByCount)) {
                        names = world.cloud_.AnyOf(pool.pool.name, names.size());
                      }
                      world.fleet_checker_.OnEnd(pool, names);
                      return names;
                    }}),
      server({loop,
              worker,
              worker,
              world.faulty_,
              world.store_,
              random,
              world.log_,
              &world.plans_,
              {{kProvider, &provider}}},
             world.plan_.limits) {
  server.Start();
}

World::UpAgent::UpAgent(World& world, const Script& script, int number)
    : random(world.plan_.seed + static_cast<std::uint64_t>(number), "agent"),
      agent({world.loop_, world.played_link_, random, world.totals_, world.gossip_}, script,
            "machine-" + std::to_string(number)) {
  agent.Start();
}

World::World(const SimPlan& plan)
    : plan_(plan),
      faults_(plan.faults),
      order_random_(plan.seed, "order"),
      fault_random_(plan.seed, "fault"),
      fault_dice_(fault_random_, [this] { ++outcome_.faults; }),
      network_random_(plan.seed, "network"),
      network_dice_(network_random_, [this] { ++outcome_.faults; }),
      cloud_random_(plan.seed, "cloud"),
      cloud_dice_(cloud_random_, [this] { ++outcome_.faults; }),
      object_random_(plan.seed, "objects"),
      object_dice_(object_random_, [this] { ++outcome_.faults; }),
      person_random_(plan.seed, "person"),
      person_dice_(person_random_, [this] { ++outcome_.faults; }),
      loop_(order_random_),
      store_([this] { return ClockUs(); }),
      log_(*this),
      items_(loop_, plan_, [this](JobId job, std::int64_t kills) { CheckKills(job, kills); }),
      checker_({.store = store_,
                .items = items_,
                .all_runs_are_known = plan.agents == 0,
                .clock = [this] { return loop_.Now(); },
                .breach = MakeBreach()}),
      gate_(fault_dice_, faults_.store),
      faulty_(store_, gate_, checker_),
      plans_(store_, gate_),
      network_(loop_, network_dice_, faults_.network, [this] { return PickServer(); }),
      bucket_(object_dice_, faults_.objects),
      cloud_({.loop = loop_,
              .place =
                  [this](const std::string& machine) {
                    Node& node = NodeOf(machine);
                    return SimCloud::Place{node.loop(), node.link()};
                  },
              .log = log_,
              .items = items_,
              .dice = cloud_dice_,
              .clock = [this] { return TimePoint(Duration(ClockUs())); },
              .faults = faults_.cloud,
              .machine_faults = faults_.machine,
              .bucket = &bucket_,
              .agent_limits = LimitsOf(plan)},
             plan.seed),
      fleet_checker_({.store = store_,
                      .provider = cloud_.provider(),
                      .plan = plan_,
                      .clock = [this] { return loop_.Now(); },
                      .breach = MakeBreach()}),
      played_link_(network_, loop_),
      servers_(static_cast<std::size_t>(plan.servers)),
      standing_(static_cast<std::size_t>(plan.machines)) {
  NewToken token;
  token.kind = TokenKind::kJoin;
  token.secret = plan.script.join_token;
  token.project = kDefaultProject;
  token.pool = kDefaultPool;
  token.life = hours(1000);
  TIDEMILL_CHECK(store_.CreateToken(token).has_value());
  MakePools();
}

World::~World() = default;

void World::MakePools() {
  Queue queue;
  queue.name = kDefaultQueue;
  queue.pools = {std::string(kDefaultPool)};
  for (std::size_t i = 0; i < plan_.pools.size(); ++i) {
    const PlannedPool& planned = plan_.pools[i];
    const std::string name = PoolNameOf(i);
    PoolMachines machines;
    machines.provider = kProvider;
    machines.shape = {planned.millicpus, plan_.script.shape.memory_bytes};
    machines.spot = planned.spot;
    machines.price = machines.on_demand = planned.price;
    machines.min = planned.min;
    machines.max = planned.max;
    machines.idle = planned.idle;
    TIDEMILL_CHECK(store_.PutPool({std::string(kDefaultProject), name, {}}).has_value());
    TIDEMILL_CHECK(store_.SetMachines(std::string(kDefaultProject), name, machines).has_value());
    cloud_.SetBoot(name, planned.boot);
    queue.pools.push_back(name);
  }
  TIDEMILL_CHECK(store_.PutQueue(std::string(kDefaultProject), queue).has_value());
}

std::int64_t World::ClockUs() const { return kBeginUs + loop_.Now().time_since_epoch().count(); }

void World::Breach(SimVerdict verdict, const std::string& id, const std::string& what) {
  if (outcome_.verdict != SimVerdict::kGood) return;
  outcome_.verdict = verdict;
  outcome_.id = id;
  outcome_.what = what + " (at " + std::to_string(loop_.Now().time_since_epoch().count() / 1000) +
                  " ms, step " + std::to_string(loop_.steps()) + ")";
}

OnBreach World::MakeBreach() {
  return [this](const std::string& id, const std::string& what) {
    Breach(id[0] == 'L' ? SimVerdict::kLiveness : SimVerdict::kSafety, id, what);
  };
}

SimOutcome World::Run() {
  for (std::size_t i = 0; i < servers_.size(); ++i) StartServer(i);
  StartAgents(plan_.script, plan_.agents);
  for (std::size_t i = 0; i < standing_.size(); ++i) StartStanding(i);
  for (std::size_t i = 0; i < plan_.jobs.size(); ++i) {
    loop_.After(plan_.jobs[i].begins, [this, i] { Submit(plan_.jobs[i], i); });
  }
  loop_.After(seconds(1), [this] { EverySecond(); });
  RunUntil(loop_.Now() + plan_.chaos);
  Heal();
  const TimePoint end = loop_.Now() + kHealTime;
  const TimePoint poor = loop_.Now() + kPoorTime;
  while (outcome_.verdict == SimVerdict::kGood && loop_.Now() < end && !AllOver()) {
    ResumePaused();
    if (loop_.Now() >= poor) CancelPoor();
    RunUntil(std::min(end, loop_.Now() + seconds(5)));
  }
  if (!AllOver()) Breach(SimVerdict::kLiveness, "L01", "a job did not end");
  RunUntil(loop_.Now() + kRollUpTime);
  if (!plan_.pools.empty()) RunUntil(loop_.Now() + kEmptyTime);
  CheckEnds();
  outcome_.steps = loop_.steps();
  outcome_.settlements = checker_.settlements();
  outcome_.machine_hours = items_.machine_hours();
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
    if (server && server->paused_seconds == 0) up.push_back(&server->server);
  }
  return up.empty() ? nullptr : up[order_random_.Below(up.size())];
}

Node& World::NodeOf(const std::string& machine) {
  std::unique_ptr<Node>& node = nodes_[machine];
  if (!node) node = std::make_unique<Node>(loop_, network_);
  return *node;
}

void World::StartAgents(const Script& script, int count) {
  for (int i = 0; i < count; ++i) {
    const int number = static_cast<int>(starts_++);
    agents_.push_back(std::make_unique<UpAgent>(*this, script, number));
  }
}

// One that an item has killed is followed by another, with another name.
void World::StartStanding(std::size_t place) {
  const std::string name =
      "real-" + std::to_string(place) + "-" + std::to_string(++standing_[place].lives);
  Node& node = NodeOf(name);
  SimMachine::Deps deps{
      .loop = node.loop(),
      .link = node.link(),
      .log = log_,
      .items = items_,
      .faults = faults_.machine,
      .dice = fault_dice_,
      .on_killed =
          [this, place] { loop_.After(Duration::zero(), [this, place] { StartStanding(place); }); },
      .bucket = &bucket_};
  standing_[place].machine.reset();
  standing_[place].machine = std::make_unique<SimMachine>(
      std::move(deps), SimMachine::Facts{name, plan_.script.join_token, plan_.script.shape,
                                         plan_.seed, LimitsOf(plan_)});
}

void World::Insist(std::function<bool()> call) {
  if (call()) return;
  loop_.After(seconds(1), [this, call = std::move(call)] { Insist(call); });
}

void World::EverySecond() {
  loop_.After(seconds(1), [this] { EverySecond(); });
  if (++seconds_ % kJobsEvery == 0) checker_.CheckJobs();
  fleet_checker_.EverySecond();
  if (!chaos_) {
    if (seconds_ % kFleetEvery == 0) fleet_checker_.CheckHealthy();
    return;
  }
  cloud_.EverySecond();
  for (const Standing& standing : standing_) standing.machine->EverySecond();
  for (const auto& [name, node] : nodes_) node->EverySecond(fault_dice_, faults_.machine);
  BreakServers();
  if (!jobs_.empty() && person_dice_.Happens(faults_.person)) Meddle();
}

void World::BreakServers() {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i]) continue;
    UpServer& server = *servers_[i];
    if (fault_dice_.Happens(faults_.server_crash)) {
      servers_[i].reset();
      loop_.After(seconds(1 + fault_random_.Below(20)), [this, i] {
        if (!servers_[i]) StartServer(i);
      });
    } else if (server.paused_seconds > 0) {
      if (--server.paused_seconds == 0) server.loop.Resume();
    } else if (fault_dice_.Happens(faults_.leader_pause)) {
      server.paused_seconds = 7 + static_cast<int>(fault_random_.Below(30));
      server.loop.Pause();
    }
  }
}

// All faults end. The played agents of before are gone without a word; as many honest ones come.
void World::Heal() {
  chaos_ = false;
  faults_ = {};
  cloud_.Heal();
  for (const Standing& standing : standing_) standing.machine->Heal();
  for (const auto& [name, node] : nodes_) node->Heal();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i]) {
      StartServer(i);
    } else {
      servers_[i]->paused_seconds = 0;
      servers_[i]->loop.Resume();
    }
  }
  // As a person would, who has seen why.
  for (std::size_t i = 0; i < plan_.pools.size(); ++i) {
    (void)store_.ForgiveNeverJoined(std::string(kDefaultProject), PoolNameOf(i));
  }
  agents_.clear();
  Script honest = plan_.script;
  honest.repeats = honest.lies = honest.gives_back = honest.comes_late = 0;
  honest.vanishes = honest.leaves = 0;
  StartAgents(honest, plan_.agents);
}

SimOutcome Play(const SimPlan& plan) { return World(plan).Run(); }

}  // namespace tidemill
