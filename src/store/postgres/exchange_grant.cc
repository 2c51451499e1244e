// SPDX-License-Identifier: Apache-2.0
// The fourth step of an exchange: items that are due or free become leases.
#include <algorithm>

#include "store/postgres/exchange.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"

namespace tidemill {

// With $5, only those with something that is no suspect.
const Statement kFindFree{
    "find_free", "select " TIDEMILL_CHUNK_COLUMNS
                 " from chunk c where c.job_id = $1 and c.chunk >= $2 and c.chunk < $3 and "
                 "c.has_free and (not $5"
                 " or bit_count(~ (c.done | c.leased | c.parked | c.resting | c.suspect)) > 0)"
                 " order by c.chunk limit $4 for no key update of c skip locked"};
const Statement kFindWorn{
    "find_worn",
    "select " TIDEMILL_CHUNK_COLUMNS
    " from chunk c where c.job_id = $1 and c.chunk >= $2 and c.chunk < $3 and c.has_worn"
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
  std::map<JobId, JobWants> looked;
  for (auto& [job, job_wants] : wants) {
    if (!active_.contains(job)) {
      dry_.insert(job);
      continue;
    }
    JobWants& split = looked[job];
    for (auto want = job_wants.rbegin(); want != job_wants.rend(); ++want) {
      (GoesFirst(*want->ask) ? split.suspects : split.others).push_back(*want);
    }
    transaction_.Send(kFindDue, Params().Big(job.number).Big(RoomOf(job_wants)).Int(kDueRows));
    FirstLook(job, split);
  }
  if (looked.empty()) return {};
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
  std::size_t next = 0;
  for (auto& [job, split] : looked) TIDEMILL_TRY_VOID(GrantJob(job, answers, next, split));
  return {};
}

// Suspects are few, and need no cursor.
void ExchangeRun::FirstLook(JobId job, JobWants& wants) {
  if (!wants.suspects.empty()) {
    wants.suspect_search = {job, 0, INT32_MAX, ChunksFor(wants.suspects), WornItems::kOnly};
    SendFindFree(*wants.suspect_search);
  }
  if (!wants.others.empty()) {
    const int limit = ChunksFor(wants.others);
    wants.other_search = {job, CursorOf(job), INT32_MAX, limit, WornOf(wants.others)};
    SendFindFree(*wants.other_search);
  }
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

Result<void> ExchangeRun::GrantDue(JobId job, const Rows& rows, JobWants& wants) {
  TIDEMILL_TRY(std::vector<DueItem> due, ReadDue(job, rows));
  if (due.empty()) return {};
  for (std::vector<Want>* some : {&wants.suspects, &wants.others}) {
    std::vector<Want> left;
    for (auto want = some->rbegin(); want != some->rend(); ++want) {
      if (!GrantRetries(*want, due)) left.push_back(*want);
    }
    some->assign(left.rbegin(), left.rend());
  }
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

// `answers` from `next` on are those of the job's first look.
Result<void> ExchangeRun::GrantJob(JobId job, const std::vector<Rows>& answers, std::size_t& next,
                                   JobWants& wants) {
  TIDEMILL_TRY_VOID(GrantDue(job, answers[next++], wants));
  if (wants.suspect_search) {
    TIDEMILL_TRY_VOID(GrantAllFrom(*wants.suspect_search, answers[next++], wants.suspects));
  }
  if (wants.other_search) {
    TIDEMILL_TRY_VOID(GrantAllFrom(*wants.other_search, answers[next++], wants.others));
  }
  return CallDry(job, wants);
}

Result<void> ExchangeRun::GrantAllFrom(const Search& search, const Rows& first,
                                       std::vector<Want>& wants) {
  const std::int32_t seen_to = GrantFound(search, first, wants);
  TIDEMILL_TRY_VOID(GrantFrom({search.job, seen_to, search.to, 0, search.worn}, wants));
  return GrantFrom({search.job, 0, search.from, 0, search.worn}, wants);
}

// What was skipped because another transaction has it is no sign that the job is dry, nor is what
// is due and belongs to other machines for a while. Nor is that it has no items of one kind.
Result<void> ExchangeRun::CallDry(JobId job, const JobWants& wants) {
  if (wants.others.empty() || WornOf(wants.others) != WornItems::kAlso) return {};
  std::vector<Want> left = wants.suspects;
  left.insert(left.end(), wants.others.begin(), wants.others.end());
  std::vector<std::int32_t> seen;
  for (auto it = chunks_.lower_bound({job, 0}); it != chunks_.end() && it->first.job == job; ++it) {
    seen.push_back(it->first.chunk);
  }
  const Params but = Params().Big(job.number).Ints(seen).Big(RoomOf(left));
  TIDEMILL_TRY(const Rows rows, transaction_.One(kAnyFreeBut, but));
  (rows[0].Flag() ? freed_ : dry_).insert(job);
  return {};
}

Result<void> ExchangeRun::GrantFrom(Search search, std::vector<Want>& wants) {
  while (!wants.empty() && search.from < search.to) {
    search.limit = ChunksFor(wants);
    if (search.worn != WornItems::kOnly) search.worn = WornOf(wants);
    SendFindFree(search);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction_.Flush());
    search.from = GrantFound(search, answers[0], wants);
  }
  return {};
}

// What a search must find to be of use to any of them.
WornItems ExchangeRun::WornOf(const std::vector<Want>& wants) {
  const bool not_worn = std::all_of(wants.begin(), wants.end(), [](const Want& want) {
    return want.ask->worn == WornItems::kNot;
  });
  return not_worn ? WornItems::kNot : WornItems::kAlso;
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
  Params params = Params().Big(search.job.number).Int(search.from).Int(search.to).Int(search.limit);
  if (search.worn == WornItems::kOnly) return transaction_.Send(kFindWorn, params);
  transaction_.Send(kFindFree, params.Flag(search.worn == WornItems::kNot));
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
    for (std::size_t i = wants.size(); i > 0 && it->second.Free().Any(); --i) {
      if (GrantOne(it->second, wants[i - 1])) {
        wants.erase(wants.begin() + static_cast<std::ptrdiff_t>(i - 1));
      }
    }
  }
  return seen_to;
}

bool ExchangeRun::GrantOne(Chunk& chunk, const Want& want) {
  const Ask& ask = *want.ask;
  if (FreeFor(chunk, ask.worn).None()) return false;
  const Bits items = PickFree(chunk, ask);
  if (items.None()) return true;
  GrantItems(chunk, items);
  Give(want, chunk,
       {ask.lease, exchange_.syncs[want.sync].session, chunk.key, chunk.round, items,
        ask.memory_bytes, false});
  if (ask.worn != WornItems::kOnly) result_.cursors[chunk.key.job] = chunk.key.chunk;
  return true;
}

void ExchangeRun::Give(const Want& want, const Chunk& chunk, const Lease& lease) {
  changed_.insert(chunk.key);
  leases_[lease.id] = lease;
  granted_.insert(lease.id);
  ++held_[lease.session];
  result_.syncs[want.sync].grants.push_back({lease, chunk.first_item, {}});
}

}  // namespace tidemill
