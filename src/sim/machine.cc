// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <charconv>
#include <utility>

#include "base/check.h"

namespace tidemill {
namespace {

// Which item it is: the agent tells its program.
std::int64_t IndexOf(const ItemRun& run) {
  constexpr std::string_view kName = "TIDEMILL_INDEX=";
  for (const std::string& text : run.env) {
    if (!text.starts_with(kName)) continue;
    std::int64_t index = -1;
    std::from_chars(text.data() + kName.size(), text.data() + text.size(), index);
    return index;
  }
  return -1;
}

}  // namespace

std::int64_t MemoryOf(const Script& script, std::int64_t item) {
  SeededRandom random(script.seed ^ static_cast<std::uint64_t>(item), "memory");
  return std::int64_t{1 << 20} << (random.Chance(0.5) ? 0 : random.Below(11));
}

SimMachine::SimMachine(Deps deps, const Script& script, std::uint64_t seed, int number)
    : deps_(deps),
      script_(script),
      random_(seed + static_cast<std::uint64_t>(number), "machine"),
      name_("real-" + std::to_string(number)) {
  StartAgent();
}

FakeRun SimMachine::Play(const ItemRun& run) {
  const std::int64_t index = IndexOf(run);
  TIDEMILL_CHECK(index >= 0);
  FakeRun play;
  const auto longest = static_cast<std::uint64_t>(script_.item_ms) * 1000;
  play.takes = Duration(1 + static_cast<std::int64_t>(random_.Below(longest)));
  play.exit = ItemFails(script_, index) ? 1 : 0;
  play.memory_bytes = MemoryOf(script_, index);
  play.ends_container = random_.Chance(deps_.faults.lost_container);
  return play;
}

FakeEngine::Play SimMachine::MakePlay() {
  const auto away = [this]() -> Result<void> {
    if (random_.Chance(deps_.faults.engine_away)) return Fail(Code::kUnavailable, "away");
    return {};
  };
  FakeEngine::Play play;
  play.run = [this](const ItemRun& run) { return Play(run); };
  play.recover = away;
  play.open = [this, away](const ContainerSpec&) -> Result<void> {
    if (random_.Chance(deps_.faults.trouble)) return Fail(Code::kInvalid, "no such image");
    return away();
  };
  return play;
}

void SimMachine::StartAgent() {
  engine_ = std::make_unique<FakeEngine>(deps_.loop, MakePlay());
  AgentOptions options;
  options.machine = name_;
  options.machine_key = "key of " + name_;
  options.join_token = [this] { return script_.join_token; };
  options.shape = script_.shape;
  options.pass = memory_.pass;
  options.run = ++memory_.run;
  // Containers end far more often here than items may stand.
  options.limits.most_strikes = 1'000'000;
  agent_ = std::make_unique<Agent>(
      AgentDeps{deps_.loop, deps_.link, *engine_, random_, deps_.log, logs_, memory_}, options);
  agent_->Start();
}

void SimMachine::EverySecond() {
  if (agent_) {
    if (!random_.Chance(deps_.faults.crash)) return;
    agent_.reset();
    engine_.reset();
    down_seconds_ = 1 + static_cast<int>(random_.Below(90));
  } else if (--down_seconds_ <= 0) {
    StartAgent();
  }
}

void SimMachine::Heal() {
  if (!agent_) StartAgent();
}

}  // namespace tidemill
