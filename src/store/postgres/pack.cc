// SPDX-License-Identifier: Apache-2.0
// Chunks of open jobs that are done and in the ledger go, and are counted instead.
#include <iterator>
#include <set>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"

namespace tidemill {

const Statement kListPackable{
    "list_packable",
    "select j.job_id from job j where j.state in (1, 2) and j.open and (exists"
    " (select 1 from chunk c where c.job_id = j.job_id and not c.over_failed"
    "  and c.over_at <= (select clock_timestamp()) - $1 * interval '1 us') or exists"
    " (select 1 from chunk c where c.job_id = j.job_id and c.over_failed"
    "  and c.over_at <= (select clock_timestamp()) - $2 * interval '1 us'))"
    " order by j.job_id limit $3"};

namespace {

// Skips what is locked, so that it waits for nobody. A chunk that was reopened just now has no
// over_at any more.
const Statement kLockToPack{
    "lock_to_pack",
    "select c.chunk, c.first_item, length(c.done), bit_count(c.failed)::int from chunk c"
    " where c.job_id = $1 and c.over_failed = $2"
    " and c.over_at <= (select clock_timestamp()) - $3 * interval '1 us'"
    " and c.all_done and c.chunk < (select ledger_chunks from job where job_id = $1)"
    " and not exists (select 1 from chunk_stat s where s.job_id = c.job_id and s.chunk = c.chunk"
    "  and not s.ledgered)"
    " order by c.over_at, c.chunk limit $4 for update of c skip locked"};
const Statement kOpenJob{"open_job",
                         "select 1 from job where job_id = $1 and open and state in (1, 2)"};
// Of chunks that are locked: what has come since they were looked for.
const Statement kNotLedgered{"not_ledgered",
                             "select distinct chunk from chunk_stat where job_id = $1"
                             " and chunk = any ($2) and not ledgered"};
const Statement kPackItems{"pack_items",
                           "delete from chunk_items where job_id = $1 and chunk = any ($2)"};
const Statement kPackStats{"pack_stats",
                           "delete from chunk_stat where job_id = $1 and chunk = any ($2)"};
const Statement kPackTries{"pack_tries",
                           "delete from item_try t using unnest($2, $3) k (first, last)"
                           " where t.job_id = $1 and t.item >= k.first and t.item <= k.last"};
const Statement kPackChunks{"pack_chunks",
                            "delete from chunk where job_id = $1 and chunk = any ($2)"};
const Statement kCountPacked{"count_packed",
                             "update job set packed_items = packed_items + $2,"
                             " packed_failed = packed_failed + $3 where job_id = $1"};
const Statement kFindPacked{"find_packed",
                            "select packed_items, packed_failed from job where job_id = $1"};

struct Going {
  std::vector<std::int32_t> chunks;
  std::vector<std::int64_t> firsts, lasts;  // items of each
  PackedAway away;
};

// Locks the chunks that go.
Result<Going> LockGoing(Transaction& transaction, JobId id, const PackAges& ages, int limit) {
  const auto which = [&](bool failed, Duration age) {
    return Params().Big(id.number).Flag(failed).Big(age.count()).Int(limit);
  };
  transaction.Send(kLockToPack, which(false, ages.done));
  transaction.Send(kLockToPack, which(true, ages.failed));
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
  std::vector<std::int32_t> locked;
  for (const Rows& rows : answers) {
    for (int i = 0; i < rows.size(); ++i) locked.push_back(rows[i].Int());
  }
  Going going;
  if (locked.empty()) return going;
  TIDEMILL_TRY(const Rows late,
               transaction.One(kNotLedgered, Params().Big(id.number).Ints(locked)));
  std::set<std::int32_t> stay;
  for (int i = 0; i < late.size(); ++i) stay.insert(late[i].Int());
  for (const Rows& rows : answers) {
    for (int i = 0; i < rows.size() && std::ssize(going.chunks) < limit; ++i) {
      Row row = rows[i];
      const std::int32_t chunk = row.Int();
      const std::int64_t first = row.Big();
      const std::int32_t length = row.Int();
      const std::int32_t failed = row.Int();
      if (stay.contains(chunk)) continue;
      going.chunks.push_back(chunk);
      going.firsts.push_back(first);
      going.lasts.push_back(first + length - 1);
      ++going.away.chunks;
      going.away.items.items += length;
      going.away.items.failed += failed;
    }
  }
  return going;
}

Params AgesOf(const PackAges& ages) {
  return Params().Big(ages.done.count()).Big(ages.failed.count());
}

}  // namespace

Result<std::vector<JobId>> PostgresStore::ListPackable(const PackAges& ages, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListPackable, AgesOf(ages).Int(limit)));
  return ReadAll(rows, [](Row& row) { return JobId{row.Big()}; });
}

Result<PackedAway> PostgresStore::PackChunks(JobId id, const PackAges& ages, int limit) {
  return Transact<PackedAway>([&](Transaction& transaction) -> Result<PackedAway> {
    TIDEMILL_TRY(const Rows open, transaction.One(kOpenJob, Params().Big(id.number)));
    if (open.empty()) return PackedAway{};
    TIDEMILL_TRY(const Going going, LockGoing(transaction, id, ages, limit));
    if (going.chunks.empty()) return PackedAway{};
    const Params which = Params().Big(id.number).Ints(going.chunks);
    const PackedItems& items = going.away.items;
    transaction.Send(kPackItems, which);
    transaction.Send(kPackStats, which);
    transaction.Send(kPackTries, Params().Big(id.number).Bigs(going.firsts).Bigs(going.lasts));
    transaction.Send(kPackChunks, which);
    transaction.Send(kCountPacked, Params().Big(id.number).Big(items.items).Big(items.failed));
    TIDEMILL_TRY(const auto committed, transaction.Commit());
    return going.away;
  });
}

Result<PackedItems> PostgresStore::FindPacked(JobId id) {
  TIDEMILL_TRY(const Rows rows, Query(kFindPacked, Params().Big(id.number)));
  if (rows.empty()) return NoSuchJob(id);
  Row row = rows[0];
  PackedItems packed;
  packed.items = row.Big();
  packed.failed = row.Big();
  return packed;
}

}  // namespace tidemill
