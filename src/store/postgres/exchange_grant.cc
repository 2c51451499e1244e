// SPDX-License-Identifier: Apache-2.0
// The fourth step of an exchange: items that are due or free become leases.
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
                            " and chunk <> all ($2)) or exists (select 1 from item_try t"
                            " where t.job_id = $1 and t.due_at <= (select clock_timestamp())"
                            " and t.memory_bytes <= $3)"};

// Locks the row and its chunk, or skips it. The time is asked for once, or no index could be used.
const Statement kFindDue{
    "find_due",
    "select t.item, t.chunk, t.memory_bytes, t.lost, t.blamed_on,"
    " (extract(epoch from clock_timestamp() - t.due_at) * 1000000)::bigint, " TIDEMILL_CHUNK_COLUMNS
    " from item_try t join chunk c on c.job_id = t.job_id and c.chunk = t.chunk"
    " where t.job_id = $1 and t.due_at <= (select clock_timestamp()) and t.memory_bytes <= $2"
    " order by t.due_at, t.item limit $3 for no key update of t, c skip locked"};

const Statement kTakeDue{"take_due",
                         "update item_try set due_at = null where job_id = $1 and item = any ($2)"};

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
  std::vector<Search> searched;
  for (auto& [job, job_wants] : wants) {
    if (!active_.contains(job)) {
      dry_.insert(job);
      continue;
    }
    // Served from the back.
    std::reverse(job_wants.begin(), job_wants.end());
    transaction_.Send(kFindDue, Params().Big(job.number).Big(RoomOf(job_wants)).Int(kDueRows));
    searched.push_back({job, CursorOf(job), INT32_MAX, ChunksFor(job_wants)});
    SendFindFree(searched.back());
  }
  if (searched.empty()) return {};
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
  for (std::size_t i = 0; i < searched.size(); ++i) {
    const JobId job = searched[i].job;
    TIDEMILL_TRY_VOID(GrantDue(job, answers[2 * i], wants.at(job)));
    TIDEMILL_TRY_VOID(GrantJob(job, answers[2 * i + 1], searched[i].limit, wants.at(job)));
  }
  return {};
}

// Those due longest first, as found. Chunks that were locked to be settled count as they are now.
Result<std::vector<DueItem>> ExchangeRun::ReadDue(JobId job, const Rows& rows) {
  std::vector<DueItem> due;
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    DueItem& item = due.emplace_back();
    item.item = row.Big();
    item.chunk = row.Int();
    item.memory_bytes = row.Big();
    item.suspect = row.Int() >= 2;
    item.blamed = row.Uuid<SessionId>();
    item.overdue = Duration(row.Big());
    const Chunk found = ReadChunk(row);
    const Chunk& chunk = chunks_.emplace(found.key, found).first->second;
    const std::int64_t offset = item.item - chunk.first_item;
    if (offset < 0 || offset >= chunk.length() || !chunk.resting.Get(static_cast<int>(offset))) {
      return Fail(Code::kInternal, "item " + std::to_string(item.item) + " of job " +
                                       std::to_string(job.number) + " is due and does not rest");
    }
  }
  return due;
}

Result<void> ExchangeRun::GrantDue(JobId job, const Rows& rows, std::vector<Want>& wants) {
  TIDEMILL_TRY(std::vector<DueItem> due, ReadDue(job, rows));
  if (due.empty()) return {};
  std::vector<Want> left;
  for (auto want = wants.rbegin(); want != wants.rend(); ++want) {
    if (!GrantRetries(*want, due)) left.push_back(*want);
  }
  wants.assign(left.rbegin(), left.rend());
  return {};
}

bool ExchangeRun::GrantRetries(const Want& want, std::vector<DueItem>& due) {
  const SessionId session = exchange_.syncs[want.sync].session;
  const std::vector<std::size_t> picked = PickRetries(due, *want.ask, session);
  if (picked.empty()) return false;
  const DueItem first = due[picked.front()];
  Chunk& chunk = chunks_.at({want.ask->job, first.chunk});
  Bits items(chunk.length());
  std::vector<std::int64_t> numbers;
  for (const std::size_t i : picked) {
    items.Set(static_cast<int>(due[i].item - chunk.first_item));
    numbers.push_back(due[i].item);
  }
  for (auto i = picked.rbegin(); i != picked.rend(); ++i) {
    due.erase(due.begin() + static_cast<std::ptrdiff_t>(*i));
  }
  GrantResting(chunk, items);
  transaction_.Tell(kTakeDue, Params().Big(want.ask->job.number).Bigs(numbers));
  const std::int64_t memory = std::max(first.memory_bytes, want.ask->memory_bytes);
  Give(want, chunk, {want.ask->lease, session, chunk.key, chunk.round, items, memory, true});
  return true;
}

std::int64_t ExchangeRun::RoomOf(const std::vector<Want>& wants) {
  std::vector<const Ask*> asks;
  for (const Want& want : wants) asks.push_back(want.ask);
  return LargestRoom(asks);
}

Result<void> ExchangeRun::GrantJob(JobId job, const Rows& first, int limit,
                                   std::vector<Want>& wants) {
  const std::int32_t cursor = CursorOf(job);
  const std::int32_t seen_to = GrantFound({job, cursor, INT32_MAX, limit}, first, wants);
  TIDEMILL_TRY_VOID(GrantFrom(job, seen_to, INT32_MAX, wants));
  TIDEMILL_TRY_VOID(GrantFrom(job, 0, cursor, wants));
  if (wants.empty()) return {};
  // What was skipped because another transaction has it is no sign that the job is dry, nor is what
  // is due and belongs to other machines for a while.
  std::vector<std::int32_t> seen;
  for (auto it = chunks_.lower_bound({job, 0}); it != chunks_.end() && it->first.job == job; ++it) {
    seen.push_back(it->first.chunk);
  }
  const Params but = Params().Big(job.number).Ints(seen).Big(RoomOf(wants));
  TIDEMILL_TRY(const Rows rows, transaction_.One(kAnyFreeBut, but));
  (rows[0].Flag() ? freed_ : dry_).insert(job);
  return {};
}

Result<void> ExchangeRun::GrantFrom(JobId job, std::int32_t from, std::int32_t to,
                                    std::vector<Want>& wants) {
  while (!wants.empty() && from < to) {
    const Search search{job, from, to, ChunksFor(wants)};
    SendFindFree(search);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
    from = GrantFound(search, answers[0], wants);
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

void ExchangeRun::SendFindFree(const Search& search) {
  Params params = Params().Big(search.job.number).Int(search.from).Int(search.to);
  transaction_.Send(kFindFree, params.Int(search.limit));
}

// Chunks that were locked to be settled count as they are now.
std::int32_t ExchangeRun::GrantFound(const Search& search, const Rows& rows,
                                     std::vector<Want>& wants) {
  std::int32_t seen_to = search.to;
  for (const Chunk& chunk : ReadAll(rows, ReadChunk)) {
    if (rows.size() == search.limit) seen_to = chunk.key.chunk + 1;
    chunks_.emplace(chunk.key, chunk);
  }
  for (auto it = chunks_.lower_bound({search.job, search.from});
       it != chunks_.end() && it->first < ChunkKey{search.job, seen_to}; ++it) {
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
  Give(want, chunk,
       {want.ask->lease, exchange_.syncs[want.sync].session, chunk.key, chunk.round, items,
        want.ask->memory_bytes, false});
  result_.cursors[chunk.key.job] = chunk.key.chunk;
}

void ExchangeRun::Give(const Want& want, const Chunk& chunk, const Lease& lease) {
  changed_.insert(chunk.key);
  leases_[lease.id] = lease;
  granted_.insert(lease.id);
  ++held_[lease.session];
  result_.syncs[want.sync].grants.push_back({lease, chunk.first_item, {}});
}

}  // namespace tidemill
