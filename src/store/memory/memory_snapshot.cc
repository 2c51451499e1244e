// SPDX-License-Identifier: Apache-2.0
// What the leader decides from, as of one moment.
#include <algorithm>
#include <utility>

#include "store/memory/memory_store.h"
#include "store/rules.h"
#include "store/snapshot_rules.h"

namespace tidemill {

// Exact in the first chunks with something free; what lies behind the last of them counts as free.
void MemoryStore::CountWaiting(const JobRow& row, PlanJob& job) const {
  int left = kFreeSampleChunks;
  for (const std::int32_t number : row.chunks.free()) {
    const ChunkTally& tally = row.chunks.TallyOf(number);
    job.waiting += tally.free;
    job.worn_waiting += tally.free_worn;
    if (--left > 0) continue;
    const Chunk& chunk = row.chunks.at(number).chunk;
    job.waiting += row.job.items - chunk.first_item - chunk.length();
    break;
  }
  job.waiting += CountDue(job.id);
  const std::int64_t now_us = clock_us_();
  const TryTable::Rests& rests = tries_.RestsOf(job.id);
  auto it = rests.lower_bound({now_us + 1, 0});
  if (it != rests.end()) job.rest_until = TimePoint(Duration(it->first));
  for (; it != rests.end() && job.resting < kDueSample; ++it) ++job.resting;
}

PlanJob MemoryStore::PlanJobOf(const JobRow& row) const {
  const JobWishes& wishes = row.job.spec.wishes;
  PlanJob job;
  job.id = row.job.id;
  job.name = PublicId(row.job);
  job.owner = row.job.owner;
  job.queue = wishes.queue.empty() ? kDefaultQueue : wishes.queue;
  job.priority = wishes.priority;
  const std::int64_t made_us = row.job.created_ms * 1000;
  job.submitted = TimePoint(Duration(made_us));
  job.served = TimePoint(Duration(std::max({row.served_us, row.granted_us, made_us})));
  job.need = row.job.spec.resources;
  job.need.memory_bytes = row.job.memory_bytes;
  CountWaiting(row, job);
  job.leased = row.chunks.counts().running;
  job.worn_leased = row.chunks.leased_worn();
  job.max_parallel = wishes.max_parallel;
  if (wishes.deadline) job.deadline = job.submitted + *wishes.deadline;
  job.budget = wishes.budget;
  job.labels = wishes.labels;
  if (row.job.state == JobState::kPaused) job.paused = row.job.reason;
  const std::set<JobId> after(wishes.after.begin(), wishes.after.end());
  std::set_difference(after.begin(), after.end(), row.after_met.begin(), row.after_met.end(),
                      std::back_inserter(job.after));
  HeardTimes heard;
  for (auto it = times_.lower_bound({job.id, ""}); it != times_.end(); ++it) {
    const HeardTimes& one = it->second;
    if (it->first.first != job.id) break;
    heard.items += one.items;
    heard.seconds += one.seconds;
    heard.squares += one.squares;
    heard.lost_seconds += one.lost_seconds;
  }
  job.times = TimesOf(heard.items, heard.seconds, heard.squares);
  job.lost = FromSeconds(heard.lost_seconds);
  job.worked = FromSeconds(heard.seconds + heard.lost_seconds);
  for (const Account account : {Account::kJob, Account::kLost}) {
    const auto found = spend_.find({job.id, "", account});
    if (found != spend_.end()) job.spent += found->second.amount;
  }
  return job;
}

PlanMachine MemoryStore::PlanMachineOf(const MachineKey& key, const MachineRow& row,
                                       const std::map<JobId, Resources>& needs) const {
  PlanMachine machine;
  machine.name = row.name;
  machine.pool = key.pool;
  machine.number = key.number;
  machine.state = row.state;
  machine.since = row.since;
  machine.price = row.price;
  machine.billed_from = row.billed_from;
  machine.put_down_until = row.put_down_until;
  machine.joined = row.joined;
  machine.idle_since = row.idle_since.value_or(TimePoint{});
  machine.missing_since = row.missing_since;
  machine.ordered = row.ordered;
  machine.ending = row.ending;
  const SessionRow* const found = sessions_.FindLive(row.session);
  if (found == nullptr || found->token.empty()) return machine;
  const SessionRow& live = *found;
  machine.session = row.session;
  machine.has = live.session.shape;
  std::map<JobId, std::string> waits;
  if (live.status) {
    for (const JobUse& use : live.status->jobs) {
      waits[use.job] = use.waits_for;
      if (!use.trouble.empty()) machine.resting.push_back(use.job);
    }
  }
  machine.leases = LeasesOn(machine.has, leases_.OwedBy(row.session), needs, waits);
  return machine;
}

Result<Snapshots> MemoryStore::ReadSnapshots() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Snapshot> projects;
  for (const auto& [key, pool] : pools_) {
    PlanPool& made = projects[pool.project].pools.emplace_back();
    static_cast<PoolMachines&>(made) = SettingsOf(pool).machines;
    made.name = pool.name;
    const PoolMarks& marks = pool_marks_[key];
    made.provider_word = marks.word;
    made.next_number = marks.next_number;
    made.never_joined = marks.never_joined;
    made.never_joined_at = marks.never_joined_at;
  }
  for (const auto& [key, queue] : queues_) projects[key.first].queues.push_back(queue);
  std::map<JobId, Resources> needs;
  for (const auto& [id, row] : under_way_) {
    if (row->job.state != JobState::kActive && row->job.state != JobState::kPaused) continue;
    PlanJob& job = projects[row->job.project].jobs.emplace_back(PlanJobOf(*row));
    needs[id] = job.need;
  }
  for (const auto& [key, row] : machine_rows_) {
    if (!row.IsShown()) continue;
    projects[key.project].machines.push_back(PlanMachineOf(key, row, needs));
  }
  return FinishSnapshots(Now(), std::move(projects), plans_);
}

}  // namespace tidemill
