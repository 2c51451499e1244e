// SPDX-License-Identifier: Apache-2.0
// What a job needs after a call that cannot do all at once: cancelling, finishing, reopening.
#include <algorithm>
#include <map>
#include <set>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"
#include "store/standing_rules.h"

namespace tidemill {

// By the items' own key: a condition on due_at would let PostgreSQL go through all that rest of the
// job, for each chunk.
const Statement kEndRests{"end_rests",
                          "update item_try t set due_at = null from unnest($2, $3) k (first, last)"
                          " where t.job_id = $1 and t.item >= k.first and t.item <= k.last"};

namespace {

// The leases' own chunks and the first that have something free or resting, all in one order.
const Statement kLockChunksToPark{
    "lock_chunks_to_park",
    "select " TIDEMILL_CHUNK_COLUMNS
    " from chunk c where c.job_id = $1 and (c.chunk = any ($2) or c.chunk in"
    " (select f.chunk from chunk f where f.job_id = $1 and f.has_free order by f.chunk limit $3)"
    " or c.chunk in (select r.chunk from"
    "  (select t.chunk from item_try t where t.job_id = $1 and t.due_at is not null limit $4) r))"
    " order by c.chunk for no key update"};

const Statement kLockLeasesOfJob{"lock_leases_of_job",
                                 "select " TIDEMILL_LEASE_COLUMNS
                                 " from lease where job_id = $1"
                                 " order by lease_id limit $2 for no key update"};
// The conditions are read as of one moment, in which an item is free, resting, leased, parked or
// done. A grant that has not committed leaves its item as it was in that moment, so no lock on the
// job is needed.
const Statement kEndCancelled{
    "end_cancelled",
    "update job set state = 5 where job_id = $1 and state = 4"
    " and not exists (select 1 from lease where lease.job_id = $1)"
    " and not exists (select 1 from chunk where chunk.job_id = $1 and has_free)"
    " and not exists (select 1 from item_try t where t.job_id = $1 and t.due_at is not null)"
    " returning state"};
// Only with the job locked: a reopening that it waited for would not show in what it reads of
// chunks.
const Statement kEndFinished{
    "end_finished",
    "update job set state = 3, reason = '' where job_id = $1 and state in (1, 2) and not open"
    " and not exists (select 1 from chunk where chunk.job_id = $1 and not all_done)"
    " returning state"};

const Statement kLockChunksToReopen{
    "lock_chunks_to_reopen",
    "select " TIDEMILL_CHUNK_COLUMNS
    " from chunk c where c.job_id = $1 and (case when cardinality($3) > 0 then c.chunk = any ($3)"
    " when cardinality($2) = 0 then bit_count(failed) > 0"
    " else exists (select 1 from unnest($2) i (item)"
    " where i.item >= c.first_item and i.item < c.first_item + length(c.done)) end)"
    " order by c.chunk for no key update"};
const Statement kUnroll{"unroll",
                        "update chunk set rolled = false, over_at = null where job_id = $1"
                        " and chunk = any ($2)"};
const Statement kReopenReports{
    "reopen_reports",
    "update report r set ended = r.ended & ~ k.items from unnest($2, $3) k (chunk, items)"
    " where r.job_id = $1 and r.chunk = k.chunk"};
const Statement kReopenStats{"reopen_stats",
                             "update chunk_stat s set ended = s.ended & ~ k.items, ledgered = false"
                             " from unnest($2, $3) k (chunk, items)"
                             " where s.job_id = $1 and s.chunk = k.chunk"};
const Statement kReopenTries{
    "reopen_tries",
    "delete from item_try t using unnest($2, $3) k (first_item, items)"
    " where t.job_id = $1 and t.item >= k.first_item and t.item < k.first_item + length(k.items)"
    " and get_bit(k.items, (t.item - k.first_item)::int) = 1"};
const Statement kReopenJob{"reopen_job",
                           "update job set round = $2, state = case state when 3 then 1 else state"
                           " end where job_id = $1"};

Result<Swept> Cancel(Transaction& transaction, JobId id) {
  Swept swept{.again = true, .state = JobState::kCancelling, .revoked = {}};
  TIDEMILL_TRY(
      const Rows lease_rows,
      transaction.One(kLockLeasesOfJob, Params().Big(id.number).Int(limits::kRevokeLeases)));
  const std::vector<Lease> leases = ReadAll(lease_rows, ReadLease);
  std::vector<LeaseId> lease_ids;
  std::vector<std::int32_t> numbers;
  std::set<SessionId> sessions;
  for (const Lease& lease : leases) {
    lease_ids.push_back(lease.id);
    numbers.push_back(lease.chunk.chunk);
    sessions.insert(lease.session);
  }
  TIDEMILL_TRY(
      const Rows rows,
      transaction.One(kLockChunksToPark,
                      Params().Big(id.number).Ints(numbers).Int(kParkChunks).Int(kParkResting)));
  std::map<ChunkKey, Chunk> chunks;
  for (const Chunk& chunk : ReadAll(rows, ReadChunk)) chunks.emplace(chunk.key, chunk);
  TIDEMILL_TRY_VOID(MustAgree(leases, chunks));
  for (const Lease& lease : leases) Revoke(chunks.at(lease.chunk), lease.mine);
  std::vector<const Chunk*> written;
  std::vector<std::int64_t> firsts, lasts;
  int resting_left = kParkResting;
  for (auto& [key, chunk] : chunks) {
    written.push_back(&chunk);
    const int resting = chunk.resting.Count();
    if (resting > resting_left) continue;
    resting_left -= resting;
    if (resting > 0) {
      firsts.push_back(chunk.first_item);
      lasts.push_back(chunk.first_item + chunk.length() - 1);
    }
    ParkWaiting(chunk);
  }
  transaction.Send(kWriteChunks, ChunkPlanes(written));
  transaction.Send(kEndRests, Params().Big(id.number).Bigs(firsts).Bigs(lasts));
  transaction.Send(kEndLeases, Params().Uuids(lease_ids));
  transaction.Send(kEndCancelled, Params().Big(id.number));
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
  swept.again = answers.back().empty();
  if (!swept.again) swept.state = JobState::kCancelled;
  swept.revoked.assign(sessions.begin(), sessions.end());
  return swept;
}

}  // namespace

Result<Swept> PostgresStore::SweepJob(JobId id) {
  return Transact<Swept>([&](Transaction& transaction) -> Result<Swept> {
    TIDEMILL_TRY(const Rows rows, transaction.One(kReadJob, Params().Big(id.number)));
    if (rows.empty()) return NoSuchJob(id);
    const Job job = ReadFirst(rows, ReadJob);
    if (job.state == JobState::kCancelling) return Cancel(transaction, id);
    if (!MayFinish(job)) return Swept{.again = false, .state = job.state, .revoked = {}};
    transaction.Send(kLockJob, Params().Big(id.number));
    transaction.Send(kEndFinished, Params().Big(id.number));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    const JobState state = answers[1].empty() ? job.state : JobState::kFinished;
    return Swept{.again = false, .state = state, .revoked = {}};
  });
}

Result<Reopened> PostgresStore::ReopenJob(JobId id, const ReopenWhich& which) {
  std::vector<std::int32_t> named;
  for (const auto& [chunk, items] : which.failed_of) named.push_back(chunk);
  return Transact<Reopened>([&](Transaction& transaction) -> Result<Reopened> {
    TIDEMILL_TRY(const Rows rows,
                 transaction.One(kLockChunksToReopen,
                                 Params().Big(id.number).Bigs(which.items).Ints(named)));
    TIDEMILL_TRY(const Rows job_rows, transaction.One(kLockJob, Params().Big(id.number)));
    if (job_rows.empty()) return NoSuchJob(id);
    const Job job = ReadFirst(job_rows, ReadJob);
    if (!MayReopen(job.state)) return WrongStateConflict(job);

    std::vector<Chunk> found = ReadAll(rows, ReadChunk);
    TIDEMILL_TRY_VOID(MayReopenItems(job, which.items, found));
    Reopened reopened{.items = 0, .round = job.round};
    std::vector<Chunk> chunks;
    std::vector<std::int32_t> numbers;
    std::vector<std::int64_t> first_items;
    std::vector<Bits> items;
    for (Chunk& chunk : found) {
      const Bits chosen = ItemsToReopen(chunk, which);
      if (chosen.None()) continue;
      reopened.items += chosen.Count();
      reopened.round = job.round + 1;
      Reopen(chunk, chosen, reopened.round);
      numbers.push_back(chunk.key.chunk);
      first_items.push_back(chunk.first_item);
      items.push_back(chosen);
      chunks.push_back(chunk);
    }
    if (chunks.empty()) return reopened;
    std::vector<const Chunk*> written;
    for (const Chunk& chunk : chunks) written.push_back(&chunk);
    const std::int64_t number = id.number;
    transaction.Send(kWriteChunks, ChunkPlanes(written));
    transaction.Send(kUnroll, Params().Big(number).Ints(numbers));
    transaction.Send(kReopenReports, Params().Big(number).Ints(numbers).BitStrings(items));
    transaction.Send(kReopenStats, Params().Big(number).Ints(numbers).BitStrings(items));
    transaction.Send(kReopenTries, Params().Big(number).Bigs(first_items).BitStrings(items));
    transaction.Send(kReopenJob, Params().Big(number).Int(reopened.round));
    transaction.Send(kBumpChange);
    TIDEMILL_TRY(const auto committed, transaction.Commit());
    return reopened;
  });
}

}  // namespace tidemill
