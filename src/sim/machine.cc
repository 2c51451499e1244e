// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <charconv>
#include <utility>

#include "base/check.h"
#include "model/job.h"

namespace tidemill {
namespace {

// What the agent tells the program of an item.
std::string_view EnvOf(const ItemRun& run, std::string_view name) {
  for (const std::string& text : run.env) {
    const std::string_view view(text);
    if (view.starts_with(name) && view[name.size()] == '=') return view.substr(name.size() + 1);
  }
  return {};
}

std::int64_t IndexOf(const ItemRun& run) {
  const std::string_view text = EnvOf(run, "TIDEMILL_INDEX");
  std::int64_t index = -1;
  std::from_chars(text.data(), text.data() + text.size(), index);
  return index;
}

}  // namespace

void SimMachine::Memory::Keep(const SessionPass& kept) {
  before = pass;
  pass = kept;
}

SimMachine::SimMachine(Deps deps, Facts facts)
    : deps_(std::move(deps)),
      facts_(std::move(facts)),
      random_(facts_.seed, facts_.name),
      dice_(deps_.dice.With(random_)) {
  StartAgent();
}

SimMachine::~SimMachine() { deps_.items.Gone(facts_.name); }

FakeRun SimMachine::Play(const ItemRun& run) {
  const auto job = ParsePublicId(EnvOf(run, "TIDEMILL_JOB"));
  const std::int64_t index = IndexOf(run);
  TIDEMILL_CHECK(job && index >= 0);
  PlayedItem played = deps_.items.Begin(facts_.name, job->id, index);
  if (dice_.Happens(deps_.faults.lost_container)) played.run.ends_container = true;
  if (played.kills_machine) {
    deps_.loop.After(played.run.takes, [this, alive = std::weak_ptr<char>(life_), job, index] {
      if (alive.expired()) return;
      deps_.items.Kill(job->id, index);
      deps_.on_killed();
    });
    // It does not live to tell.
    played.run.takes *= 2;
  }
  return played.run;
}

FakeEngine::Play SimMachine::MakePlay() {
  const auto away = [this]() -> Result<void> {
    if (dice_.Happens(deps_.faults.engine_away)) return Fail(Code::kUnavailable, "away");
    return {};
  };
  FakeEngine::Play play;
  play.run = [this](const ItemRun& run) { return Play(run); };
  play.recover = away;
  play.open = [this, away](const ContainerSpec&) -> Result<void> {
    if (dice_.Happens(deps_.faults.trouble)) return Fail(Code::kInvalid, "no such image");
    return away();
  };
  return play;
}

void SimMachine::StartAgent() {
  life_ = std::make_shared<char>();
  engine_ = std::make_unique<FakeEngine>(deps_.loop, MakePlay());
  if (deps_.bucket != nullptr) data_ = std::make_unique<SimData>(deps_.loop, *deps_.bucket);
  AgentOptions options;
  options.machine = facts_.name;
  options.machine_key = "key of " + facts_.name;
  options.join_token = [this] { return facts_.join_token; };
  options.shape = facts_.shape;
  for (const auto& [kind, has] : facts_.shape.devices) {
    for (int i = 0; i < has.count; ++i)
      options.devices.push_back({kind, "/dev/" + std::to_string(i)});
  }
  options.disk_trouble = [this] {
    return std::string(full_seconds_ > 0 ? "the disk is full" : "");
  };
  options.pass = memory_.pass;
  options.run = ++memory_.run;
  options.limits = facts_.limits;
  // Containers end far more often here than items may stand.
  options.limits.most_strikes = 1'000'000;
  agent_ = std::make_unique<Agent>(
      AgentDeps{deps_.loop, deps_.link, *engine_, random_, deps_.log, logs_, memory_, data_.get()},
      options);
  agent_->Start();
}

void SimMachine::Crash() {
  life_.reset();
  deps_.items.Gone(facts_.name);
  agent_.reset();
  data_.reset();
  engine_.reset();
  if (dice_.Happens(deps_.faults.unsynced)) memory_.pass = memory_.before;
  down_seconds_ = 1 + static_cast<int>(random_.Below(90));
}

void SimMachine::EverySecond() {
  if (full_seconds_ > 0) --full_seconds_;
  if (dice_.Happens(deps_.faults.disk_full)) {
    full_seconds_ = 1 + static_cast<int>(random_.Below(120));
  }
  if (agent_) {
    if (dice_.Happens(deps_.faults.crash)) Crash();
  } else if (!leaving_ && --down_seconds_ <= 0) {
    StartAgent();
  }
}

void SimMachine::Heal() {
  full_seconds_ = 0;
  if (!agent_ && !leaving_) StartAgent();
}

void SimMachine::Leave() {
  if (std::exchange(leaving_, true) || !agent_) return;
  agent_->Leave([] {});
}

}  // namespace tidemill
