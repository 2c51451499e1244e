// SPDX-License-Identifier: Apache-2.0
// Jobs whose items arrive while they run.
#include <set>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"
#include "store/standing_rules.h"

namespace tidemill {

// Today, as the marks have it.
#define TIDEMILL_DAY "floor(extract(epoch from clock_timestamp()) / 86400)::int"

// Renews first: what is from today is not forgotten by anybody, and what was being forgotten just
// now is gone when the next statement looks. Most of what is said again was said today already, and
// is not written.
const Statement kRenewMarks{"renew_marks",
                            "update item_once set day = " TIDEMILL_DAY
                            " where job_id = $1 and mark = any ($2) and day < " TIDEMILL_DAY};
const Statement kFindMarks{"find_marks",
                           "select mark from item_once where job_id = $1 and mark = any ($2)"};
// Not as a condition of the deletion itself: a plan that looks for the old ones more than once
// would find others each time.
const Statement kForgetMarks{
    "forget_marks",
    "with old as materialized (select job_id, mark from item_once where day < " TIDEMILL_DAY
    " - $1 order by day limit $2 for update skip locked)"
    " delete from item_once m using old where m.job_id = old.job_id and m.mark = old.mark"};

namespace {

const Statement kLockStanding{"lock_standing",
                              "select " TIDEMILL_JOB_COLUMNS
                              ", packed_items from job where job_id = $1 for no key update"};
const Statement kRenewCall{"renew_call",
                           "update item_call set day = " TIDEMILL_DAY
                           " where job_id = $1 and mark = $2 returning digest, first_item, added"};
const Statement kInsertCall{"insert_call",
                            "insert into item_call (job_id, mark, digest, first_item, added, day)"
                            " values ($1, $2, $3, $4, $5, " TIDEMILL_DAY ")"};
const Statement kInsertMarks{"insert_marks",
                             "insert into item_once (job_id, mark, day) select $1, k.mark"
                             ", " TIDEMILL_DAY " from unnest($2) k (mark)"};
const Statement kForgetCalls{
    "forget_calls",
    "with old as materialized (select job_id, mark from item_call where day < " TIDEMILL_DAY
    " - $1 order by day limit $2 for update skip locked)"
    " delete from item_call m using old where m.job_id = old.job_id and m.mark = old.mark"};

const Statement kForgetParts{
    "forget_parts",
    "with old as materialized (select p.job_id, p.part from job j"
    " join part p on p.job_id = j.job_id where j.open and j.state in (1, 2)"
    " and p.day < " TIDEMILL_DAY
    " - $1 order by p.job_id, p.part limit $2)"
    " delete from part p using old where p.job_id = old.job_id and p.part = old.part"};

struct Locked {
  Job job;
  std::int64_t packed = 0;
};

Result<Locked> LockStanding(Transaction& transaction, JobId id) {
  TIDEMILL_TRY(const Rows rows, transaction.One(kLockStanding, Params().Big(id.number)));
  if (rows.empty()) return NoSuchJob(id);
  Row row = rows[0];
  Locked locked;
  locked.job = ReadJob(row);
  locked.packed = row.Big();
  return locked;
}

// What the call was answered before, if it is a copy. The job is locked.
Result<std::optional<Added>> FindCall(Transaction& transaction, const Job& job,
                                      const NewItems& items) {
  if (items.key.empty()) return std::nullopt;
  TIDEMILL_TRY(const Rows rows,
               transaction.One(kRenewCall, Params().Big(job.id.number).Bytes(items.key)));
  if (rows.empty()) return std::nullopt;
  Row row = rows[0];
  if (row.Text() != items.digest) return OtherCallConflict(job);
  Added added{.job = job};
  if (const std::int64_t first = row.Big(); first >= 0) added.first = first;
  added.added = row.Big();
  return added;
}

// Those of the call's marks that the job has. The job is locked: nobody else adds any.
Result<std::set<std::string>> KnownMarks(Transaction& transaction, JobId id,
                                         const NewItems& items) {
  std::vector<std::string_view> marks;
  for (const std::string& mark : items.once) {
    if (!mark.empty()) marks.emplace_back(mark);
  }
  std::set<std::string> known;
  if (marks.empty()) return known;
  const Params which = Params().Big(id.number).BytesList(marks);
  transaction.Send(kRenewMarks, which);
  transaction.Send(kFindMarks, which);
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
  for (int i = 0; i < answers[1].size(); ++i) known.insert(answers[1][i].Text());
  return known;
}

}  // namespace

Result<Added> PostgresStore::AddItems(JobId id, const NewItems& items) {
  return Transact<Added>([&](Transaction& transaction) -> Result<Added> {
    TIDEMILL_TRY(const Locked locked, LockStanding(transaction, id));
    const Job& job = locked.job;
    TIDEMILL_TRY(const std::optional<Added> before, FindCall(transaction, job, items));
    if (before) {
      TIDEMILL_TRY(const auto renewed, transaction.Commit());
      return *before;
    }
    TIDEMILL_TRY(const std::set<std::string> known, KnownMarks(transaction, id, items));
    const NewOnes ones = ChooseNew(items, known);
    TIDEMILL_TRY(const std::vector<NewChunkItems> chunks, CutNew(items, ones));
    Added added{.job = job, .added = ItemsIn(chunks), .known = ones.known};
    if (added.added > 0) {
      TIDEMILL_TRY_VOID(MayAddItems(job, added.added, locked.packed));
      TIDEMILL_TRY_VOID(MayGrow(transaction, job.project, added.added));
      added.first = job.items;
      if (!ones.marks.empty()) {
        transaction.Tell(kInsertMarks, Params().Big(id.number).BytesList(ones.marks));
      }
      SendChunks(transaction, job, chunks, 0);
      transaction.Tell(kBumpChange, {});
    }
    if (!items.key.empty()) {
      transaction.Tell(kInsertCall, Params()
                                        .Big(id.number)
                                        .Bytes(items.key)
                                        .Bytes(items.digest)
                                        .Big(added.first.value_or(-1))
                                        .Big(added.added));
    }
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    if (added.added > 0) added.job = ReadFirst(answers.back(), ReadJob);
    return added;
  });
}

Result<std::int64_t> PostgresStore::ForgetMarks(Duration age, int limit) {
  const Params which = Params().Int(DaysOf(age)).Int(limit);
  TIDEMILL_TRY(const Rows items, Query(kForgetMarks, which));
  TIDEMILL_TRY(const Rows calls, Query(kForgetCalls, which));
  TIDEMILL_TRY(const Rows parts, Query(kForgetParts, which));
  return items.touched() + calls.touched() + parts.touched();
}

}  // namespace tidemill
