// SPDX-License-Identifier: Apache-2.0
#include "sim/items.h"

#include <utility>

#include "base/random.h"
#include "model/machine_name.h"

namespace tidemill {
namespace {

std::uint64_t SeedOf(const SimPlan& plan, JobId job, std::int64_t item) {
  return plan.seed ^ (static_cast<std::uint64_t>(job.number) << 40) ^
         static_cast<std::uint64_t>(item);
}

}  // namespace

std::int64_t MemoryOf(const Script& script, std::int64_t item) {
  SeededRandom random(script.seed ^ static_cast<std::uint64_t>(item), "memory");
  return std::int64_t{1 << 20} << (random.Chance(0.5) ? 0 : random.Below(11));
}

bool PlannedItems::IsPoison(JobId job, std::int64_t item) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.poison_ppm == 0) return false;
  SeededRandom random(SeedOf(plan_, job, item), "poison");
  return random.Below(1'000'000) < static_cast<std::uint64_t>(found->second.poison_ppm);
}

PlannedItems::PlannedItems(Loop& loop, const SimPlan& plan,
                           std::function<void(JobId, std::int64_t)> on_kill)
    : loop_(loop), plan_(plan), on_kill_(std::move(on_kill)) {}

PlayedItem PlannedItems::Begin(const std::string& machine, JobId job, std::int64_t item) {
  const auto found = jobs_.find(job);
  const std::int64_t longest_ms = found == jobs_.end() ? 1000 : found->second.item_ms;
  SeededRandom random(SeedOf(plan_, job, item), "length");
  PlayedItem played;
  played.run.takes = Duration(
      1 + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(longest_ms) * 1000)));
  played.run.exit = ItemFails(plan_.script, item) ? 1 : 0;
  played.run.memory_bytes = MemoryOf(plan_.script, item);
  played.kills_machine = IsPoison(job, item);
  const TimePoint would_end = loop_.Now() + played.run.takes;
  begins_[{job, item}].push_back({would_end, played.run.exit});
  last_[job] = loop_.Now();
  std::vector<TimePoint>& ends = ends_[machine];
  std::erase_if(ends, [this](TimePoint end) { return end <= loop_.Now(); });
  ends.push_back(would_end);
  machine_seconds_ += MachineSeconds(machine, played.run.takes);
  return played;
}

double PlannedItems::MachineSeconds(const std::string& machine, Duration time) const {
  std::int64_t millicpus = plan_.script.shape.millicpus;
  for (std::size_t i = 0; i < plan_.pools.size(); ++i) {
    if (MachineNumber(PoolNameOf(i), machine)) millicpus = plan_.pools[i].millicpus;
  }
  const std::chrono::duration<double> seconds = time;
  return seconds.count() * 1000 / static_cast<double>(millicpus);
}

void PlannedItems::Gone(const std::string& machine) {
  const auto found = ends_.find(machine);
  if (found == ends_.end()) return;
  for (const TimePoint end : found->second) {
    if (end > loop_.Now()) machine_seconds_ -= MachineSeconds(machine, end - loop_.Now());
  }
  ends_.erase(found);
}

const std::vector<ItemBegin>& PlannedItems::BeginsOf(JobId job, std::int64_t item) const {
  static const std::vector<ItemBegin> none;
  const auto found = begins_.find({job, item});
  return found == begins_.end() ? none : found->second;
}

TimePoint PlannedItems::LastBegin(JobId job) const {
  const auto found = last_.find(job);
  return found == last_.end() ? TimePoint{} : found->second;
}

}  // namespace tidemill
