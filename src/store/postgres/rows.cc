// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/rows.h"

#include <sstream>

namespace tidemill {

const Statement kLockChunks{"lock_chunks", "select " TIDEMILL_CHUNK_COLUMNS
                                           " from unnest($1, $2) k (job, chunk)"
                                           " join chunk c on c.job_id = k.job and c.chunk = k.chunk"
                                           " order by c.job_id, c.chunk for no key update of c"};

const Statement kWriteChunks{
    "write_chunks",
    "update chunk c set round = k.round, done = k.done, failed = k.failed, leased = k.leased,"
    " parked = k.parked, lost1 = k.lost1, suspect = k.suspect, resting = k.resting"
    " from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
    " k (job, chunk, round, done, failed, leased, parked, lost1, suspect, resting)"
    " where c.job_id = k.job and c.chunk = k.chunk"};

const Statement kEndLeases{"end_leases", "delete from lease where lease_id = any ($1)"};

const Statement kEndSessions{"end_sessions",
                             "update agent_session set state = 2, ended_at = clock_timestamp()"
                             " where session_id = any ($1)"};

const Statement kReadJob{"read_job", "select " TIDEMILL_JOB_COLUMNS " from job where job_id = $1"};

const Statement kLockJob{
    "lock_job", "select " TIDEMILL_JOB_COLUMNS " from job where job_id = $1 for no key update"};

const Statement kBumpChange{"bump_change", "update change set seq = seq + 1"};

namespace {

JobWishes ReadWishes(Row& row) {
  JobWishes wishes;
  wishes.queue = row.Text();
  wishes.priority = row.Int();
  if (const std::int64_t most = row.Big(); most >= 0) wishes.max_parallel = most;
  if (const std::int64_t ms = row.Big(); ms >= 0) wishes.deadline = std::chrono::milliseconds(ms);
  if (const std::int64_t most = row.Big(); most >= 0) wishes.budget = Money{most};
  wishes.labels = ParseLabels(row.Text());
  wishes.after = ParseJobIds(row.Text());
  return wishes;
}

}  // namespace

std::vector<JobId> ParseJobIds(const std::string& text) {
  std::vector<JobId> ids;
  std::istringstream numbers(text);
  for (std::int64_t number = 0; numbers >> number;) ids.push_back({number});
  return ids;
}

Job ReadJob(Row& row) {
  Job job;
  job.id.number = row.Big();
  job.project = row.Text();
  job.key = row.Text();
  job.spec.name = row.Text();
  job.spec.resources.millicpus = row.Big();
  job.spec.resources.memory_bytes = row.Big();
  job.spec.retries = row.Int();
  job.spec.document = row.Text();
  job.state = static_cast<JobState>(row.Small());
  job.open = row.Flag();
  job.round = row.Int();
  job.parts = row.Int();
  job.chunks = row.Int();
  job.items = row.Big();
  job.created_ms = row.Time() / 1000;
  job.reason = row.Text();
  job.spec.memory_max = row.Big();
  job.spec.retry_wait = std::chrono::milliseconds(row.Big());
  job.spec.canary = row.Int();
  job.spec.resources.devices = ParseDevices(row.Text()).value_or(Devices());
  job.memory_bytes = row.Big();
  job.trial = row.Flag();
  job.image_digest = row.Text();
  job.spec.wishes = ReadWishes(row);
  job.owner = row.Text();
  job.uid = row.Text();
  return job;
}

Chunk ReadChunk(Row& row) {
  Chunk chunk;
  chunk.key.job.number = row.Big();
  chunk.key.chunk = row.Int();
  chunk.first_item = row.Big();
  chunk.round = row.Int();
  chunk.done = row.BitString();
  chunk.failed = row.BitString();
  chunk.leased = row.BitString();
  chunk.parked = row.BitString();
  chunk.lost1 = row.BitString();
  chunk.suspect = row.BitString();
  chunk.resting = row.BitString();
  return chunk;
}

Lease ReadLease(Row& row) {
  Lease lease;
  lease.id = row.Uuid<LeaseId>();
  lease.session = row.Uuid<SessionId>();
  lease.chunk.job.number = row.Big();
  lease.chunk.chunk = row.Int();
  lease.round = row.Int();
  lease.mine = row.BitString();
  lease.memory_bytes = row.Big();
  lease.tried = row.Flag();
  return lease;
}

Report ReadReport(Row& row) {
  Report report;
  report.chunk.job.number = row.Big();
  report.chunk.chunk = row.Int();
  report.lease = row.Uuid<LeaseId>();
  report.seq = row.Int();
  report.round = row.Int();
  report.kind = static_cast<ReportKind>(row.Small());
  report.settled = row.BitString();
  report.ended = row.BitString();
  report.body = row.Text();
  return report;
}

ItemTry ReadTry(Row& row) {
  ItemTry item_try;
  item_try.job.number = row.Big();
  item_try.item = row.Big();
  item_try.attempts = row.Int();
  item_try.lost = row.Int();
  item_try.memory_bytes = row.Big();
  item_try.steps = row.Int();
  return item_try;
}

ChunkStat ReadStat(Row& row) {
  ChunkStat stat;
  stat.chunk.job.number = row.Big();
  stat.chunk.chunk = row.Int();
  stat.round = row.Int();
  stat.ended = row.BitString();
  stat.block = row.Text();
  stat.summary = row.Text();
  return stat;
}

AskedStream ReadAsked(Row& row) {
  AskedStream stream;
  stream.id = row.Uuid<StreamId>();
  stream.session = row.Uuid<SessionId>();
  stream.job.number = row.Big();
  stream.item = row.Big();
  stream.ask = row.Text();
  return stream;
}

Session ReadSession(Row& row) {
  Session session;
  session.id = row.Uuid<SessionId>();
  session.machine = row.Text();
  session.project = row.Text();
  session.pool = row.Text();
  session.shape.millicpus = row.Big();
  session.shape.memory_bytes = row.Big();
  session.shape.devices = ParseDevices(row.Text()).value_or(Devices());
  session.state = static_cast<SessionState>(row.Small());
  session.aside = row.Text();
  return session;
}

tl::unexpected<Error> BrokenLease(LeaseId id) {
  return Fail(Code::kInternal, "lease " + ToString(id) + " does not agree with its chunk");
}

Result<void> MustAgree(const std::vector<Lease>& leases, const std::map<ChunkKey, Chunk>& chunks) {
  std::map<ChunkKey, Bits> unclaimed;
  for (const Lease& lease : leases) {
    const auto found = chunks.find(lease.chunk);
    if (found == chunks.end()) return BrokenLease(lease.id);
    Bits& leased = unclaimed.try_emplace(lease.chunk, found->second.leased).first->second;
    if (leased.length() != lease.mine.length() || !leased.Contains(lease.mine)) {
      return BrokenLease(lease.id);
    }
    leased -= lease.mine;
  }
  return {};
}

Params ChunkKeys(const std::vector<ChunkKey>& keys) {
  std::vector<std::int64_t> jobs;
  std::vector<std::int32_t> numbers;
  for (const ChunkKey& key : keys) {
    jobs.push_back(key.job.number);
    numbers.push_back(key.chunk);
  }
  return Params().Bigs(jobs).Ints(numbers);
}

Params ChunkPlanes(const std::vector<const Chunk*>& chunks) {
  std::vector<ChunkKey> keys;
  std::vector<std::int32_t> rounds;
  std::vector<Bits> done, failed, leased, parked, lost1, suspect, resting;
  for (const Chunk* chunk : chunks) {
    keys.push_back(chunk->key);
    rounds.push_back(chunk->round);
    done.push_back(chunk->done);
    failed.push_back(chunk->failed);
    leased.push_back(chunk->leased);
    parked.push_back(chunk->parked);
    lost1.push_back(chunk->lost1);
    suspect.push_back(chunk->suspect);
    resting.push_back(chunk->resting);
  }
  Params params = ChunkKeys(keys);
  params.Ints(rounds).BitStrings(done).BitStrings(failed).BitStrings(leased);
  return params.BitStrings(parked).BitStrings(lost1).BitStrings(suspect).BitStrings(resting);
}

}  // namespace tidemill
