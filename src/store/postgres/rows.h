// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "base/result.h"
#include "model/access.h"
#include "model/chunk.h"
#include "model/job.h"
#include "model/lease.h"
#include "model/session.h"
#include "store/postgres/connection.h"
#include "store/postgres/values.h"
#include "store/rows.h"

// Rows of tables as nouns. Each list of columns stands beside the function that reads it.
namespace tidemill {

#define TIDEMILL_JOB_COLUMNS                                                                      \
  "job_id, project, submit_key, name, millicpus, memory_bytes, retries, document, state, open, "  \
  "round, parts, chunks, items, created_at, reason, memory_max, retry_wait_ms, canary, devices, " \
  "memory_now, trial, image_digest, queue, priority, max_parallel, deadline_ms, budget, labels, " \
  "array_to_string(after_jobs, ' '), owner, uid"
Job ReadJob(Row& row);
// "7 12", as array_to_string has it.
std::vector<JobId> ParseJobIds(const std::string& text);

#define TIDEMILL_CHUNK_COLUMNS                                                                \
  "c.job_id, c.chunk, c.first_item, c.round, c.done, c.failed, c.leased, c.parked, c.lost1, " \
  "c.suspect, c.resting"
Chunk ReadChunk(Row& row);

#define TIDEMILL_LEASE_COLUMNS \
  "lease_id, session_id, job_id, chunk, round, mine, memory_bytes, tried"
Lease ReadLease(Row& row);

#define TIDEMILL_REPORT_COLUMNS \
  "r.job_id, r.chunk, r.lease_id, r.seq, r.round, r.kind, r.settled, r.ended, r.body"
Report ReadReport(Row& row);

#define TIDEMILL_TRY_COLUMNS "t.job_id, t.item, t.attempts, t.lost, t.memory_bytes, t.steps"
ItemTry ReadTry(Row& row);

#define TIDEMILL_STAT_COLUMNS "s.job_id, s.chunk, s.round, s.ended, s.block, s.summary"
ChunkStat ReadStat(Row& row);

#define TIDEMILL_POOL_COLUMNS                                                                \
  "o.project, o.name, o.no_capabilities, o.read_only_root, o.no_network, o.user_namespace, " \
  "o.firewall, o.volumes"
Pool ReadPool(Row& row);

#define TIDEMILL_SESSION_COLUMNS \
  "session_id, machine, project, pool, millicpus, memory_bytes, devices, state, aside"
Session ReadSession(Row& row);

// Of one that a left join has not found: all are there, and mean nothing.
#define TIDEMILL_ASKED_COLUMNS                                                              \
  "coalesce(s.stream_id, '00000000-0000-0000-0000-000000000000'),"                          \
  " coalesce(s.session_id, '00000000-0000-0000-0000-000000000000'), coalesce(s.job_id, 0)," \
  " coalesce(s.item, 0), coalesce(s.ask, '')"
AskedStream ReadAsked(Row& row);

// Locks chunks, lowest first, and reads them as they are once locked.
extern const Statement kLockChunks;
Params ChunkKeys(const std::vector<ChunkKey>& keys);
// Writes all planes of chunks that are locked.
extern const Statement kWriteChunks;
Params ChunkPlanes(const std::vector<const Chunk*>& chunks);

// Fails if a lease owes what its chunk, locked, has not leased, or what another of these leases
// owes. Such rows are broken, and nothing may be decided by them; but servers that ended themselves
// over them would do so again as soon as they are back.
Result<void> MustAgree(const std::vector<Lease>& leases, const std::map<ChunkKey, Chunk>& chunks);
tl::unexpected<Error> BrokenLease(LeaseId id);

extern const Statement kEndLeases;
extern const Statement kEndSessions;

template <typename Read>
auto ReadFirst(const Rows& rows, Read read) {
  Row row = rows[0];
  return read(row);
}

template <typename Read>
auto ReadAll(const Rows& rows, Read read) {
  std::vector<decltype(ReadFirst(rows, read))> all;
  all.reserve(static_cast<std::size_t>(rows.size()));
  for (int i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    all.push_back(read(row));
  }
  return all;
}

// Of the project's limit. Jobs of a project that grow at the same moment may together pass it by a
// call each.
Result<void> MayGrow(Transaction& transaction, const std::string& project, std::int64_t more);
// Appends chunks to a job that is locked, and counts them as so many parts. The next answer is the
// job as it is then.
void SendChunks(Transaction& transaction, const Job& job, const std::vector<NewChunkItems>& chunks,
                int parts);

extern const Statement kReadJob;
extern const Statement kLockJob;
extern const Statement kBumpChange;
// Streams whose time is over.
extern const Statement kDropAsked;

}  // namespace tidemill
