// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/chunk.h"
#include "model/exchange.h"
#include "model/job.h"
#include "model/lease.h"
#include "model/session.h"
#include "store/rows.h"

namespace tidemill {

// Everything that must not be lost. Each call is one transaction. Any thread; calls may block.
//
// Every call may be repeated with the same arguments: after kUnknown (it may have been done) or
// kUnavailable (nothing was done) the caller says it again. No call decides by the caller's clock.
class Store {
 public:
  virtual ~Store() = default;

  // --- jobs ---

  // A draft, or the job that has this project and key already, as it is. kConflict: that one has
  // another spec.
  virtual Result<Job> CreateJob(const NewJob& job) = 0;
  // Appends the chunks of part number `part`. A part that is stored already is answered as it was,
  // if `digest` is the same. kConflict: another digest, a gap before it, or the job takes no more
  // parts.
  virtual Result<Job> AddPart(JobId id, const NewPart& part) = 0;
  // Makes the items of a draft runnable. kConflict: it has not just `parts` parts.
  virtual Result<Job> SealJob(JobId id, std::int32_t parts) = 0;
  // An open job takes no more parts from now on.
  virtual Result<Job> CloseJob(JobId id) = 0;
  // `reason` is for people: why, if no person did it. One that is paused keeps the reason it has;
  // only a paused job has one.
  virtual Result<Job> PauseJob(JobId id, const std::string& reason) = 0;
  // Ends its trial too: somebody has looked.
  virtual Result<Job> ResumeJob(JobId id) = 0;
  // Nothing new is granted, but by an exchange that is under way; SweepJob carries it out.
  virtual Result<Job> CancelJob(JobId id) = 0;
  // The job has shown that its items can succeed, or somebody has looked: no longer on trial.
  virtual Result<void> EndTrial(JobId id) = 0;
  // Pauses a job that is active and still on trial; of any other, nothing.
  virtual Result<void> PauseTrial(JobId id, const std::string& reason) = 0;
  // From now on its items start with so much; less than they do already changes nothing.
  virtual Result<void> RaiseMemory(JobId id, std::int64_t bytes) = 0;
  // What the job's image is from now on, if nobody has said so before: the first one counts.
  // Answers with that.
  virtual Result<std::string> PinImage(JobId id, const std::string& digest) = 0;
  // Frees items that are done, for one more round. Answers how many. Said again, it frees those
  // that are done again by then: the one call whose copy is a wish of its own.
  virtual Result<Reopened> ReopenJob(JobId id, const ReopenWhich& which) = 0;
  // One bounded step of what a job in its state still needs: revoking leases and parking items of a
  // cancelled one; finding that one is finished. Answers whether another step is needed.
  virtual Result<Swept> SweepJob(JobId id) = 0;
  // Deletes drafts that nobody has touched for `age`, and sessions that have been dead that long.
  virtual Result<std::int64_t> DropStale(Duration age) = 0;

  // --- agents ---

  // Begins a session, or goes on with one that lives: its token is then the old one or this, which
  // takes its place once it is used. Another live session of the same machine is over: it may be
  // reaped, and nothing is taken from it any more.
  // kConflict: a machine of this name lives in the pool, or this session is there, with another
  // key.
  virtual Result<Session> Join(const NewSession& session) = 0;
  // From now on the session gets no new leases. kLost: no such session lives in `project` (empty:
  // in any).
  virtual Result<void> Drain(SessionId id, const std::string& project) = 0;
  // Drains a session that lives, for a reason that people see; of any other, nothing.
  virtual Result<void> PutAside(SessionId id, const std::string& reason) = 0;
  // Of the live sessions of projects in which some live one is blamed for something; by id.
  virtual Result<std::vector<Record>> ListRecords() = 0;
  // kLost: not the pass of a session that lives. kForbidden: it holds no lease of `job`.
  virtual Result<Session> CheckPass(const SessionPass& pass, Duration token_life,
                                    std::optional<JobId> job) = 0;
  // The syncs of many agents. Fails as a whole or not at all.
  virtual Result<ExchangeResult> Run(const Exchange& exchange) = 0;
  // Ends at most `limit` sessions whose time is over; what they owed is free again, or rests if it
  // was tried before, one loss higher.
  virtual Result<Reaped> Reap(int limit) = 0;

  // --- reading ---

  virtual Result<Job> FindJob(JobId id) = 0;
  virtual Result<JobCounts> CountItems(JobId id) = 0;
  // The same of many jobs, in the same order; those that are not there are left out.
  virtual Result<std::vector<JobCounts>> CountJobs(const std::vector<JobId>& ids) = 0;
  // Newest first, with numbers below `before`.
  virtual Result<std::vector<Job>> ListJobs(const JobFilter& filter) = 0;
  // Active jobs with free items or retries that are due, oldest first; so many of each project.
  virtual Result<std::vector<RunnableJob>> ListRunnable(int limit) = 0;
  // Jobs that SweepJob should look at.
  virtual Result<std::vector<JobId>> ListSweepable(int limit) = 0;
  // Chunks from number `from` on that have an item in `state`.
  virtual Result<std::vector<Chunk>> ListChunks(JobId id, const ChunkFilter& filter) = 0;
  // The items of a chunk, packed as they were given; nothing for items of a bare range.
  virtual Result<ChunkItems> FindItems(ChunkKey key) = 0;
  // Summaries of the chunks from number `from` on that are rolled up.
  virtual Result<std::vector<ChunkStat>> ListStats(JobId id, std::int32_t from, int limit) = 0;
  // Reports of a chunk that are not rolled up yet, by lease and seq.
  virtual Result<std::vector<Report>> ListReports(ChunkKey key) = 0;

  // All that is recorded of the attempts at a chunk's items, as of one moment.
  virtual Result<ChunkHistory> FindHistory(ChunkKey key) = 0;
  // Reports of a job that are not rolled up yet: of the newest chunks, at most `limit`.
  virtual Result<OpenReports> ListOpenReports(JobId id, int limit) = 0;
  // Sessions that are not dead, by id.
  virtual Result<std::vector<ListedMachine>> ListMachines(const MachineFilter& filter) = 0;

  // --- upkeep ---

  // Replaces the reports of at most `limit` chunks that are over (done, or cancelled with
  // something done) by what `make` makes of them.
  virtual Result<RolledUp> RollUp(int limit, const RollUpMaker& make) = 0;
  // Grows with every Announce and every change of a job that lets something new be granted.
  virtual Result<ChangeMark> ReadChange() = 0;
  virtual Result<void> Announce() = 0;
  // Somebody reads what the job's items write as it comes, for so long from now; never shortens
  // it. Answers who has leases of the job, at most kFollowSessions. kNotFound: no such job.
  virtual Result<std::vector<SessionId>> Follow(JobId id, Duration time) = 0;
  // Somebody wants into what an item runs in: who has its lease is told so, by ReadChange. Answers
  // who that is. kNotFound: no such job or item. kConflict: nobody has a lease of it; the reason
  // says in which state it is. kExhausted: too many wait already.
  virtual Result<SessionId> AskStream(const NewStream& stream) = 0;
  // Its agent has come, or nobody waits for it any more: no one is told of it from now on.
  virtual Result<void> EndStream(StreamId id) = 0;
  // The whole state of all jobs, or of one and the sessions that hold its leases, as of one moment.
  virtual Result<StoreState> Dump(std::optional<JobId> only, Bodies bodies) = 0;
};

}  // namespace tidemill
