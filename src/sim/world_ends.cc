// SPDX-License-Identifier: Apache-2.0
// What must be so when a run is over.
#include <algorithm>
#include <map>

#include "report/summary.h"
#include "sim/world.h"

namespace tidemill {

void World::CheckKills(JobId job, std::int64_t kills) {
  const Result<Job> found = store_.FindJob(job);
  if (!found || kills <= limits::kMaxLost * (found->round + 1)) return;
  Breach(SimVerdict::kSafety, "S11", "an item has killed more machines than it may");
}

void World::CheckEnds() {
  if (outcome_.verdict != SimVerdict::kGood) return;
  checker_.CheckJobs();
  const Result<StoreState> state = store_.Dump(std::nullopt, Bodies::kWith);
  for (const tidemill::Breach& breach : CheckConservation(*state)) {
    Breach(SimVerdict::kSafety, breach.id, breach.what);
  }
  for (const JobDump& dump : state->jobs) CheckEnd(dump);
  if (state->jobs.size() != plan_.jobs.size()) {
    Breach(SimVerdict::kSafety, "S16", "a job was made twice");
  }
  if (!plan_.pools.empty()) fleet_checker_.CheckEnd();
}

void World::CheckItem(const JobDump& dump, std::int64_t item, bool has_failed,
                      const ItemTry& tried) {
  const JobSpec& spec = dump.job.spec;
  const bool is_too_large = spec.memory_max > 0 && MemoryOf(plan_.script, item) > spec.memory_max;
  const bool fails = is_too_large || ItemFails(plan_.script, item);
  if (fails && !has_failed) Breach(SimVerdict::kSafety, "S08", "a success was invented");
  const bool is_poison = items_.IsPoison(dump.job.id, item);
  if (fails && !is_too_large && !is_poison && tried.lost < limits::kMaxLost &&
      tried.attempts != spec.retries + 1) {
    Breach(SimVerdict::kSafety, "S10",
           "an item was given up before, or tried after, its last retry");
  }
  const auto& begins = items_.BeginsOf(dump.job.id, item);
  const auto ended = std::count_if(begins.begin(), begins.end(), [this](const ItemBegin& begin) {
    return begin.would_end <= loop_.Now();
  });
  if (fails && !is_too_large && !is_poison && plan_.agents == 0 && dump.job.round == 0 &&
      tried.lost < limits::kMaxLost && ended < spec.retries + 1) {
    Breach(SimVerdict::kSafety, "S10",
           "an item was given up that was not tried as often as it may");
  }
  const PlannedJob& planned = plan_.jobs[planned_.at(dump.job.id)];
  const std::string job = std::string(kDefaultProject) + "/" + PublicId(dump.job);
  if (planned.stores && plan_.agents == 0 && !has_failed && !bucket_.Has(job, item)) {
    Breach(SimVerdict::kSafety, "S17", "an item has succeeded whose output is not there");
  }
}

// Items that fail whenever they are run, or need more memory than there is, cannot have succeeded;
// no other can have failed but by being lost with too many machines.
void World::CheckEnd(const JobDump& dump) {
  // An agent that hears nothing begins nothing when its session must be thought to be over.
  const auto cancelled = checker_.CancelledAt(dump.job.id);
  if (cancelled && items_.LastBegin(dump.job.id) > *cancelled + plan_.limits.session_life) {
    Breach(SimVerdict::kSafety, "S15", "an item was begun long after its job was cancelled");
  }
  if (dump.job.state != JobState::kFinished) return;
  std::map<std::int64_t, ItemTry> tries;
  for (const ItemTry& item_try : dump.tries) tries[item_try.item] = item_try;
  std::int64_t unexpected = 0;
  for (const StoredChunk& stored : dump.chunks) {
    const Chunk& chunk = stored.chunk;
    if (!stored.rolled) {
      Breach(SimVerdict::kLiveness, "L09", "a finished chunk was not rolled up");
    }
    for (int i = 0; i < chunk.length(); ++i) {
      const std::int64_t item = chunk.first_item + i;
      const bool has_failed = chunk.failed.Get(i);
      CheckItem(dump, item, has_failed, tries[item]);
      const std::int64_t most = dump.job.spec.memory_max;
      const bool fails =
          ItemFails(plan_.script, item) || (most > 0 && MemoryOf(plan_.script, item) > most);
      if (!fails && has_failed) ++unexpected;
    }
  }
  std::int64_t lost = 0;
  for (const ChunkStat& stat : dump.stats) {
    const Result<Summary> summary = Summary::Decode(stat.summary);
    if (!summary) {
      Breach(SimVerdict::kSafety, "S04", "a summary cannot be read: " + summary.error().reason);
      continue;
    }
    lost += summary->outcomes[static_cast<std::size_t>(Cause::kLost)];
    if (summary->unreadable > 0) Breach(SimVerdict::kSafety, "S04", "an attempt has no row");
  }
  if (unexpected > lost) Breach(SimVerdict::kSafety, "S09", "a failure was invented");
}

}  // namespace tidemill
