// SPDX-License-Identifier: Apache-2.0
// Jobs from their draft to their end, as people's calls change them.
#include <set>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/rules.h"

namespace tidemill {
namespace {

// A copy must not draw a number: people see these, and gaps make them ask what was lost. The
// conflict clause is for copies that come at the same moment.
const Statement kInsertJob{
    "insert_job",
    "insert into job (project, submit_key, name, millicpus, memory_bytes, retries, document, open,"
    " memory_max, retry_wait_ms, canary, devices, image_digest, memory_now, trial, queue, priority,"
    " max_parallel, deadline_ms, budget, labels, after_jobs, owner, uid)"
    " select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $5, $11 > 0, $14, $15, $16,"
    " $17, $18, $19, $20, $21, $22 where not exists"
    " (select 1 from job where project = $1 and submit_key = $2)"
    " on conflict (project, submit_key) do nothing"};
const Statement kJobByKey{"job_by_key", "select " TIDEMILL_JOB_COLUMNS
                                        " from job where project = $1 and submit_key = $2"};
// Held until the new one is there: none of them can be dropped meanwhile.
const Statement kLockAfter{"lock_after",
                           "select job_id from job where job_id = any ($1) and project = $2"
                           " order by job_id for key share"};
const Statement kPartDigest{"part_digest",
                            "select digest from part where job_id = $1 and part = $2"};
const Statement kInsertPart{"insert_part",
                            "insert into part (job_id, part, digest) values ($1, $2, $3)"};
const Statement kGrowJob{
    "grow_job",
    "update job set chunks = chunks + $2, items = items + $3, parts = parts + $4,"
    " touched_at = clock_timestamp() where job_id = $1 returning " TIDEMILL_JOB_COLUMNS};
// Lengths and numbers are enough: all planes begin as zeros.
const Statement kInsertChunks{
    "insert_chunks",
    "insert into chunk (job_id, chunk, first_item, done, failed, leased, parked, lost1, suspect,"
    " resting) select $1, k.chunk, k.first_item, z, z, z, z, z, z, z"
    " from unnest($2, $3, $4) k (chunk, first_item, length),"
    " lateral (select repeat('0', k.length)::varbit) zeros (z)"};
const Statement kInsertItems{"insert_items",
                             "insert into chunk_items (job_id, chunk, body)"
                             " select $1, k.chunk, k.body from unnest($2, $3) k (chunk, body)"};
const Statement kItemsUnderWay{
    "items_under_way",
    "select coalesce((select items_max from project where name = $1), $2)::bigint,"
    " (select coalesce(sum(items - packed_items), 0) from job where project = $1 and state in (0, "
    "1, 2, "
    "4))::bigint"};
const Statement kSetState{"set_state",
                          "update job set state = $2::int, reason = $3"
                          " where job_id = $1 returning " TIDEMILL_JOB_COLUMNS};
const Statement kResumeJob{"resume_job",
                           "update job set state = 1, reason = '', trial = false"
                           " where job_id = $1 returning " TIDEMILL_JOB_COLUMNS};
const Statement kEndTrial{"end_trial", "update job set trial = false where job_id = $1 and trial"};
const Statement kPauseTrial{"pause_trial",
                            "update job set state = 2, reason = $2"
                            " where job_id = $1 and state = 1 and trial"};
const Statement kRaiseMemory{
    "raise_memory", "update job set memory_now = $2 where job_id = $1 and memory_now < $2"};
// Of those that come at the same moment, the second waits for the first and then finds its digest.
const Statement kPinImage{"pin_image",
                          "update job set image_digest ="
                          " case when image_digest = '' then $2 else image_digest end"
                          " where job_id = $1 returning image_digest"};
const Statement kCloseJob{
    "close_job", "update job set open = false where job_id = $1 returning " TIDEMILL_JOB_COLUMNS};

Result<Job> LockJob(Transaction& transaction, JobId id) {
  TIDEMILL_TRY(const Rows rows, transaction.One(kLockJob, Params().Big(id.number)));
  if (rows.empty()) return NoSuchJob(id);
  return ReadFirst(rows, ReadJob);
}

// Sets the state, tells the servers, and commits.
Result<Job> SetState(Transaction& transaction, JobId id, JobState state,
                     std::string_view reason = {}) {
  transaction.Send(kSetState, Params().Big(id.number).Int(static_cast<int>(state)).Text(reason));
  transaction.Send(kBumpChange);
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
  return ReadFirst(answers[0], ReadJob);
}

std::vector<std::int64_t> NumbersOf(const std::vector<JobId>& ids) {
  std::vector<std::int64_t> numbers;
  for (const JobId id : ids) numbers.push_back(id.number);
  return numbers;
}

// Of a job that is not there yet: those that it comes after must be.
Result<void> CheckAfter(Transaction& transaction, const NewJob& job) {
  if (job.spec.wishes.after.empty()) return {};
  transaction.Send(kJobByKey, Params().Text(job.project).Text(job.key));
  transaction.Send(kLockAfter, Params().Bigs(NumbersOf(job.spec.wishes.after)).Text(job.project));
  TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Flush());
  if (!answers[0].empty()) return {};
  std::set<JobId> there;
  for (int i = 0; i < answers[1].size(); ++i) there.insert({answers[1][i].Big()});
  return MayComeAfter(job, [&](JobId id) { return there.contains(id); });
}

}  // namespace

Result<void> MayGrow(Transaction& transaction, const std::string& project, std::int64_t more) {
  TIDEMILL_TRY(const Rows rows,
               transaction.One(kItemsUnderWay, Params().Text(project).Big(ProjectLimits{}.items)));
  Row row = rows[0];
  ProjectLimits limits;
  limits.items = row.Big();
  return MayHaveItems(row.Big(), more, limits);
}

void SendChunks(Transaction& transaction, const Job& job, const std::vector<NewChunkItems>& chunks,
                int parts) {
  std::vector<std::int32_t> numbers, lengths, numbers_with_items;
  std::vector<std::int64_t> first_items;
  std::vector<std::string_view> bodies;
  std::int32_t number = job.chunks;
  std::int64_t first_item = job.items;
  for (const NewChunkItems& chunk : chunks) {
    numbers.push_back(number);
    first_items.push_back(first_item);
    lengths.push_back(chunk.length);
    if (!chunk.body.empty()) {
      numbers_with_items.push_back(number);
      bodies.push_back(chunk.body);
    }
    ++number;
    first_item += chunk.length;
  }
  const std::int64_t id = job.id.number;
  transaction.Tell(kInsertChunks, Params().Big(id).Ints(numbers).Bigs(first_items).Ints(lengths));
  transaction.Tell(kInsertItems, Params().Big(id).Ints(numbers_with_items).BytesList(bodies));
  transaction.Send(
      kGrowJob, Params().Big(id).Int(number - job.chunks).Big(first_item - job.items).Int(parts));
}

Result<Job> PostgresStore::CreateJob(const NewJob& job) {
  return Transact<Job>([&](Transaction& transaction) -> Result<Job> {
    const JobSpec& spec = job.spec;
    const JobWishes& wishes = spec.wishes;
    TIDEMILL_TRY_VOID(CheckAfter(transaction, job));
    transaction.Send(kInsertJob, Params()
                                     .Text(job.project)
                                     .Text(job.key)
                                     .Text(spec.name)
                                     .Big(spec.resources.millicpus)
                                     .Big(spec.resources.memory_bytes)
                                     .Int(spec.retries)
                                     .Text(spec.document)
                                     .Flag(job.open)
                                     .Big(spec.memory_max)
                                     .Big(spec.retry_wait.count())
                                     .Int(spec.canary)
                                     .Text(FormatDevices(spec.resources.devices))
                                     .Text(job.image_digest)
                                     .Text(wishes.queue)
                                     .Int(wishes.priority)
                                     .Big(wishes.max_parallel.value_or(-1))
                                     .Big(wishes.deadline ? wishes.deadline->count() : -1)
                                     .Big(wishes.budget ? wishes.budget->micros : -1)
                                     .Text(FormatLabels(wishes.labels))
                                     .Bigs(NumbersOf(wishes.after))
                                     .Text(job.owner)
                                     .Text(job.uid));
    transaction.Send(kJobByKey, Params().Text(job.project).Text(job.key));
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    // Between the two statements only DropStale can have taken it away.
    if (answers[1].empty()) return Fail(Code::kUnavailable, "the draft was dropped just now");
    return SameJobOrConflict(ReadFirst(answers[1], ReadJob), job);
  });
}

Result<Job> PostgresStore::AddPart(JobId id, const NewPart& part) {
  return Transact<Job>([&](Transaction& transaction) -> Result<Job> {
    TIDEMILL_TRY(const Job job, LockJob(transaction, id));
    if (part.number >= 0 && part.number < job.parts) {
      TIDEMILL_TRY(const Rows stored,
                   transaction.One(kPartDigest, Params().Big(id.number).Int(part.number)));
      if (stored.empty()) return ForgottenPartConflict(part.number);
      if (stored[0].Text() != part.digest) return OtherPartConflict(part.number);
      return job;
    }
    TIDEMILL_TRY_VOID(MayAddPart(job, part));
    const std::vector<NewChunkItems> chunks = ChunksOf(part);
    TIDEMILL_TRY_VOID(MayGrow(transaction, job.project, ItemsIn(chunks)));
    transaction.Tell(kInsertPart, Params().Big(id.number).Int(part.number).Bytes(part.digest));
    SendChunks(transaction, job, chunks, 1);
    if (job.state != JobState::kDraft) transaction.Tell(kBumpChange, {});
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    return ReadFirst(answers[0], ReadJob);
  });
}

Result<Job> PostgresStore::SealJob(JobId id, std::int32_t parts) {
  return Transact<Job>([&](Transaction& transaction) -> Result<Job> {
    TIDEMILL_TRY(const Job job, LockJob(transaction, id));
    if (job.state != JobState::kDraft) return job;
    if (job.parts != parts) return WrongPartsConflict(job, parts);
    return SetState(transaction, id, JobState::kActive);
  });
}

Result<Job> PostgresStore::CloseJob(JobId id) {
  TIDEMILL_TRY(const Rows rows, Query(kCloseJob, Params().Big(id.number)));
  if (rows.empty()) return NoSuchJob(id);
  return ReadFirst(rows, ReadJob);
}

Result<Job> PostgresStore::PauseJob(JobId id, const std::string& reason) {
  return Transact<Job>([&](Transaction& transaction) -> Result<Job> {
    TIDEMILL_TRY(const Job job, LockJob(transaction, id));
    if (job.state == JobState::kPaused) return job;
    if (job.state != JobState::kActive) return WrongStateConflict(job);
    return SetState(transaction, id, JobState::kPaused, reason);
  });
}

Result<Job> PostgresStore::ResumeJob(JobId id) {
  return Transact<Job>([&](Transaction& transaction) -> Result<Job> {
    TIDEMILL_TRY(const Job job, LockJob(transaction, id));
    const bool paused = job.state == JobState::kPaused;
    if (!paused && job.state != JobState::kActive) return WrongStateConflict(job);
    if (!paused && !job.trial) return job;
    transaction.Send(kResumeJob, Params().Big(id.number));
    if (paused) transaction.Send(kBumpChange);
    TIDEMILL_TRY(const std::vector<Rows> answers, transaction.Commit());
    return ReadFirst(answers[0], ReadJob);
  });
}

Result<void> PostgresStore::EndTrial(JobId id) {
  TIDEMILL_TRY_VOID(Query(kEndTrial, Params().Big(id.number)));
  return {};
}

Result<void> PostgresStore::PauseTrial(JobId id, const std::string& reason) {
  return Transact<void>([&](Transaction& transaction) -> Result<void> {
    TIDEMILL_TRY(const Rows rows,
                 transaction.One(kPauseTrial, Params().Big(id.number).Text(reason)));
    if (rows.touched() == 0) return {};
    transaction.Send(kBumpChange);
    TIDEMILL_TRY(const auto committed, transaction.Commit());
    return {};
  });
}

Result<void> PostgresStore::RaiseMemory(JobId id, std::int64_t bytes) {
  TIDEMILL_TRY_VOID(Query(kRaiseMemory, Params().Big(id.number).Big(bytes)));
  return {};
}

Result<std::string> PostgresStore::PinImage(JobId id, const std::string& digest) {
  TIDEMILL_TRY(const Rows rows, Query(kPinImage, Params().Big(id.number).Text(digest)));
  if (rows.empty()) return NoSuchJob(id);
  return rows[0].Text();
}

Result<Job> PostgresStore::CancelJob(JobId id) {
  return Transact<Job>([&](Transaction& transaction) -> Result<Job> {
    TIDEMILL_TRY(const Job job, LockJob(transaction, id));
    if (job.state == JobState::kFinished) return WrongStateConflict(job);
    if (job.state == JobState::kCancelling || job.state == JobState::kCancelled) return job;
    return SetState(transaction, id, JobState::kCancelling);
  });
}

}  // namespace tidemill
