// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud.h"

#include <utility>

namespace tidemill {
namespace {

using std::chrono::seconds;

constexpr double kSecondsInAnHour = 3600;
constexpr double kSecondsInAMinute = 60;
// As AWS and Google give it.
constexpr Duration kLongNotice = seconds(120);
constexpr Duration kShortNotice = seconds(30);

}  // namespace

SimCloud::SimCloud(Deps deps, std::uint64_t seed)
    : deps_(std::move(deps)), seed_(seed), provider_(deps_.loop, deps_.clock) {
  FakeProvider::Play& play = provider_.play();
  play.on_up = [this](const PoolSettings& pool, const MachineOrder& order) { Start(pool, order); };
  play.on_over = [this](const std::string& pool, const std::string& name) {
    running_.erase({pool, name});
  };
  play.is_never_up = [this] { return deps_.dice.Happens(deps_.faults.never_up); };
  play.is_forgotten = [this] { return Happens(deps_.faults.forgotten); };
  play.listing_late = deps_.faults.listing_late;
}

void SimCloud::SetBoot(const std::string& pool, Duration time) {
  provider_.play().booting_in[pool] = time;
}

void SimCloud::Start(const PoolSettings& pool, const MachineOrder& order) {
  const Key key{pool.pool.name, order.name};
  const Place place = deps_.place(order.name);
  SimMachine::Deps deps{.loop = place.loop,
                        .link = place.link,
                        .log = deps_.log,
                        .items = deps_.items,
                        .faults = deps_.machine_faults,
                        .dice = deps_.dice,
                        .on_killed = [this, key] { Kill(key); },
                        .bucket = deps_.bucket};
  SimMachine::Facts facts{order.name, order.join_token, pool.machines.shape, seed_,
                          deps_.agent_limits};
  running_[key] = {{key.first, key.second, pool.machines.spot},
                   pool,
                   std::make_unique<SimMachine>(std::move(deps), std::move(facts))};
}

// Later, because it may be asked from inside the machine.
void SimCloud::Kill(const Key& key) {
  deps_.loop.After(Duration::zero(), [this, key] {
    const auto found = running_.find(key);
    if (found == running_.end()) return;
    const PoolSettings pool = found->second.pool;
    provider_.Kill(pool, key.second);
  });
}

void SimCloud::Interrupt(const std::string& pool, const std::string& name, Duration notice) {
  const Key key{pool, name};
  const auto found = running_.find(key);
  if (found == running_.end() || found->second.up.leaving) return;
  ++interrupted_;
  if (notice == Duration::zero()) return Kill(key);
  found->second.up.leaving = true;
  found->second.machine->Leave();
  deps_.loop.After(notice, [this, key] { Kill(key); });
}

std::vector<SimCloud::Up> SimCloud::up() const {
  std::vector<Up> list;
  for (const auto& [key, running] : running_) list.push_back(running.up);
  return list;
}

std::vector<std::string> SimCloud::AnyOf(const std::string& pool, std::size_t count) const {
  std::vector<std::string> names;
  for (const auto& [key, running] : running_) {
    if (key.first == pool && names.size() < count) names.push_back(key.second);
  }
  return names;
}

void SimCloud::EverySecond() {
  TakeSomeAway();
  LoseCapacity();
  LoseApi();
  for (auto& [key, running] : running_) running.machine->EverySecond();
}

void SimCloud::TakeSomeAway() {
  const double chance = deps_.faults.interrupted / kSecondsInAnHour;
  if (chance == 0) return;
  std::vector<Key> taken;
  for (const auto& [key, running] : running_) {
    if (running.up.spot && deps_.dice.Happens(chance)) taken.push_back(key);
  }
  Random& random = deps_.dice.random();
  for (const auto& [pool, name] : taken) {
    const Duration told = random.Chance(0.5) ? kLongNotice : kShortNotice;
    Interrupt(pool, name, random.Chance(deps_.faults.notice) ? told : Duration::zero());
  }
}

// What cannot happen draws no number, so that seeds from before there was such a fault go on.
bool SimCloud::Happens(double chance) { return chance > 0 && deps_.dice.Happens(chance); }

void SimCloud::LoseCapacity() {
  FakeProvider::Play& play = provider_.play();
  if (dry_seconds_ > 0) {
    if (--dry_seconds_ == 0) play.capacity = play.quota = std::nullopt;
  } else if (deps_.dice.Happens(deps_.faults.no_capacity / kSecondsInAMinute)) {
    dry_seconds_ = 60 + static_cast<int>(deps_.dice.random().Below(600));
    (Happens(deps_.faults.quota) ? play.quota : play.capacity) = provider_.there();
  }
}

void SimCloud::LoseApi() {
  if (outage_seconds_ > 0) {
    if (--outage_seconds_ == 0) provider_.play().error.reset();
  } else if (Happens(deps_.faults.outage / kSecondsInAnHour)) {
    outage_seconds_ = static_cast<int>(kSecondsInAnHour);
    provider_.play().error = Error{Code::kUnavailable, "the provider does not answer"};
  }
}

void SimCloud::Heal() {
  dry_seconds_ = outage_seconds_ = 0;
  provider_.play().capacity = provider_.play().quota = std::nullopt;
  provider_.play().error.reset();
  provider_.play().listing_late = {};
  for (auto& [key, running] : running_) running.machine->Heal();
}

}  // namespace tidemill
