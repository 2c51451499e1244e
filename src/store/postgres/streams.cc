// SPDX-License-Identifier: Apache-2.0
// Who wants into the containers of items.
#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"
#include "store/rules.h"
#include "store/stream_rules.h"

namespace tidemill {

const Statement kDropAsked{"drop_asked",
                           "delete from asked_stream where until <= clock_timestamp()"};
// From the lowest chunk that it can be in. Chunk and lease are of one moment.
const Statement kFindItemLease{
    "find_item_lease",
    "select " TIDEMILL_CHUNK_COLUMNS
    ", coalesce(l.session_id, '00000000-0000-0000-0000-000000000000') from"
    " (select * from chunk where job_id = $1 and chunk >= $2 and first_item <= $3"
    "  and first_item + length(done) > $3 order by chunk limit 1) c"
    " left join lease l on l.job_id = c.job_id and l.chunk = c.chunk"
    "  and substring(l.mine from ($3 - c.first_item)::int + 1 for 1) = B'1'"};

namespace {

const Statement kFindAsked{"find_asked",
                           "select session_id from asked_stream where stream_id = $1"};
const Statement kCountAsked{"count_asked", "select count(*) from asked_stream"};
// A copy that came at the same moment changes nothing, and is answered alike.
const Statement kAsk{"ask_stream",
                     "insert into asked_stream (stream_id, session_id, job_id, item, ask, until)"
                     " values ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 us')"
                     " on conflict (stream_id) do update set until = asked_stream.until"
                     " returning session_id"};

const Statement kEndAsked{"end_asked", "delete from asked_stream where stream_id = $1"};

SessionId ReadSessionId(Row& row) { return row.Uuid<SessionId>(); }

// Who has the item's lease.
Result<SessionId> WhoRuns(const Rows& rows, std::int64_t item) {
  if (rows.empty()) return NobodyRunsIt(nullptr, item);
  Row row = rows[0];
  const Chunk chunk = ReadChunk(row);
  const SessionId session = ReadSessionId(row);
  if (session == SessionId{}) return NobodyRunsIt(&chunk, item);
  return session;
}

}  // namespace

Result<SessionId> PostgresStore::AskStream(const NewStream& stream) {
  return Transact<SessionId>([&](Transaction& transaction) -> Result<SessionId> {
    const std::int64_t job_number = stream.job.number;
    transaction.Tell(kDropAsked, {});
    transaction.Send(kFindAsked, Params().Uuid(stream.id));
    transaction.Send(kCountAsked);
    transaction.Send(kReadJob, Params().Big(job_number));
    transaction.Send(kFindItemLease,
                     Params().Big(job_number).Int(FirstChunkFor(stream.item)).Big(stream.item));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
    if (!answers[0].empty()) return ReadFirst(answers[0], ReadSessionId);
    if (answers[2].empty()) return NoSuchJob(stream.job);
    const Job job = ReadFirst(answers[2], ReadJob);
    if (stream.item < 0 || stream.item >= job.items) return NoSuchItem(job, stream.item);
    TIDEMILL_TRY(const SessionId session, WhoRuns(answers[3], stream.item));
    if (answers[1][0].Big() >= kAskedStreams) return TooManyStreams();
    transaction.Send(kAsk, Params()
                               .Uuid(stream.id)
                               .Uuid(session)
                               .Big(job_number)
                               .Big(stream.item)
                               .Text(stream.ask)
                               .Big(stream.life.count()));
    TIDEMILL_TRY(const std::vector<Rows> asked, transaction.Commit());
    return ReadFirst(asked[0], ReadSessionId);
  });
}

Result<void> PostgresStore::EndStream(StreamId id) {
  TIDEMILL_TRY_VOID(Query(kEndAsked, Params().Uuid(id)));
  return {};
}

}  // namespace tidemill
