// SPDX-License-Identifier: Apache-2.0
// The fourth step of an exchange: free items become leases.
#include <algorithm>

#include "store/postgres/exchange.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"

namespace tidemill {

const Statement kFindFree{
    "find_free",
    "select " TIDEMILL_CHUNK_COLUMNS
    " from chunk c where c.job_id = $1 and c.chunk >= $2 and c.chunk < $3 and c.has_free"
    " order by c.chunk limit $4 for no key update of c skip locked"};

const Statement kAnyFreeBut{"any_free_but",
                            "select exists (select 1 from chunk where job_id = $1 and has_free"
                            " and chunk <> all ($2))"};

bool ExchangeRun::MayHave(std::size_t sync, std::size_t wanted) const {
  const SyncOrder& order = exchange_.syncs[sync];
  const SyncResult& result = result_.syncs[sync];
  if (result.lost || !result.grants.empty()) return false;
  if (sessions_.at(order.session) != SessionState::kAlive) return false;
  const auto held = held_.find(order.session);
  return (held == held_.end() ? 0 : held->second) + wanted < limits::kLeasesPerSession;
}

Result<void> ExchangeRun::GrantAll() {
  for (std::size_t choice = 0; choice < limits::kAsksPerSync; ++choice) {
    std::map<JobId, std::vector<Want>> wants;
    std::map<SessionId, std::size_t> wanted;
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      const SyncOrder& order = exchange_.syncs[i];
      if (choice >= order.asks.size() || !MayHave(i, wanted[order.session])) continue;
      const Ask& ask = order.asks[choice];
      const auto active = active_.find(ask.job);
      if (active != active_.end() && active->second != result_.syncs[i].project) continue;
      ++wanted[order.session];
      wants[ask.job].push_back({i, &ask});
    }
    TIDEMILL_TRY_VOID(GrantChoice(wants));
  }
  return {};
}

// The first look into every job is one round trip for all of them, and mostly enough.
Result<void> ExchangeRun::GrantChoice(std::map<JobId, std::vector<Want>>& wants) {
  std::vector<JobId> searched;
  for (auto& [job, job_wants] : wants) {
    if (!active_.contains(job)) {
      dry_.insert(job);
      continue;
    }
    // Served from the back.
    std::reverse(job_wants.begin(), job_wants.end());
    SendFindFree(job, CursorOf(job), INT32_MAX, job_wants);
    searched.push_back(job);
  }
  if (searched.empty()) return {};
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
  for (std::size_t i = 0; i < searched.size(); ++i) {
    const JobId job = searched[i];
    TIDEMILL_TRY_VOID(GrantJob(job, answers[i], wants.at(job)));
  }
  return {};
}

Result<void> ExchangeRun::GrantJob(JobId job, const Rows& first, std::vector<Want>& wants) {
  const std::int32_t cursor = CursorOf(job);
  const std::int32_t seen_to = GrantFound(job, cursor, INT32_MAX, first, wants);
  TIDEMILL_TRY_VOID(GrantFrom(job, seen_to, INT32_MAX, wants));
  TIDEMILL_TRY_VOID(GrantFrom(job, 0, cursor, wants));
  if (wants.empty()) return {};
  // What was skipped because another transaction has it is no sign that the job is dry.
  std::vector<std::int32_t> seen;
  for (auto it = chunks_.lower_bound({job, 0}); it != chunks_.end() && it->first.job == job; ++it) {
    seen.push_back(it->first.chunk);
  }
  TIDEMILL_TRY(const Rows rows, transaction_.One(kAnyFreeBut, Params().Big(job.number).Ints(seen)));
  (rows[0].Flag() ? freed_ : dry_).insert(job);
  return {};
}

Result<void> ExchangeRun::GrantFrom(JobId job, std::int32_t from, std::int32_t to,
                                    std::vector<Want>& wants) {
  while (!wants.empty() && from < to) {
    SendFindFree(job, from, to, wants);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
    from = GrantFound(job, from, to, answers[0], wants);
  }
  return {};
}

std::int32_t ExchangeRun::CursorOf(JobId job) const {
  const auto found = exchange_.cursors.find(job);
  return found == exchange_.cursors.end() ? 0 : found->second;
}

// As many chunks as the wants are likely to need, and more only if they do: what is locked here
// cannot be granted by others meanwhile.
int ExchangeRun::ChunksFor(const std::vector<Want>& wants) {
  std::int64_t items = 0;
  for (const Want& want : wants) items += std::max(want.ask->max_items, 0);
  return static_cast<int>(
      std::min<std::int64_t>(items / limits::kItemsPerChunk + 1, limits::kSyncsPerBatch));
}

void ExchangeRun::SendFindFree(JobId job, std::int32_t from, std::int32_t to,
                               const std::vector<Want>& wants) {
  transaction_.Send(kFindFree, Params().Big(job.number).Int(from).Int(to).Int(ChunksFor(wants)));
}

// Chunks that were locked to be settled count as they are now.
std::int32_t ExchangeRun::GrantFound(JobId job, std::int32_t from, std::int32_t to,
                                     const Rows& rows, std::vector<Want>& wants) {
  const int limit = ChunksFor(wants);
  std::int32_t seen_to = to;
  for (const Chunk& chunk : ReadAll(rows, ReadChunk)) {
    if (rows.size() == limit) seen_to = chunk.key.chunk + 1;
    chunks_.emplace(chunk.key, chunk);
  }
  for (auto it = chunks_.lower_bound({job, from});
       it != chunks_.end() && it->first < ChunkKey{job, seen_to}; ++it) {
    while (!wants.empty() && it->second.Free().Any()) {
      GrantOne(it->second, wants.back());
      wants.pop_back();
    }
  }
  return seen_to;
}

void ExchangeRun::GrantOne(Chunk& chunk, const Want& want) {
  const Bits items = PickItems(chunk, want.ask->max_items);
  if (items.None()) return;
  GrantItems(chunk, items);
  changed_.insert(chunk.key);
  const SessionId session = exchange_.syncs[want.sync].session;
  const Lease lease{want.ask->lease, session, chunk.key, chunk.round, items};
  leases_[lease.id] = lease;
  granted_.insert(lease.id);
  ++held_[session];
  result_.syncs[want.sync].grants.push_back({lease, chunk.first_item, {}});
  result_.cursors[chunk.key.job] = chunk.key.chunk;
}

}  // namespace tidemill
