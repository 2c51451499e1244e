// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/store.h"

namespace tidemill {

// The store as maps: for the simulator, and as the plain statement of what a store must do. It goes
// through every row where a real one has an index. Any thread; nothing survives it.
class MemoryStore : public Store {
 public:
  // `clock_us` is the store's own clock, since 1970.
  explicit MemoryStore(std::function<std::int64_t()> clock_us) : clock_us_(std::move(clock_us)) {}

  Result<Job> CreateJob(const NewJob& job) override;
  Result<Job> AddPart(JobId id, const NewPart& part) override;
  Result<Job> SealJob(JobId id, std::int32_t parts) override;
  Result<Job> CloseJob(JobId id) override;
  Result<Job> PauseJob(JobId id, const std::string& reason) override;
  Result<Job> ResumeJob(JobId id) override;
  Result<Job> CancelJob(JobId id) override;
  Result<Reopened> ReopenJob(JobId id, const ReopenWhich& which) override;
  Result<Swept> SweepJob(JobId id) override;
  Result<std::int64_t> DropStale(Duration age) override;

  Result<Session> Join(const NewSession& session) override;
  Result<void> Drain(SessionId id) override;
  Result<ExchangeResult> Run(const Exchange& exchange) override;
  Result<Reaped> Reap(int limit) override;

  Result<Job> FindJob(JobId id) override;
  Result<JobCounts> CountItems(JobId id) override;
  Result<std::vector<JobCounts>> CountJobs(const std::vector<JobId>& ids) override;
  Result<std::vector<Job>> ListJobs(const JobFilter& filter) override;
  Result<std::vector<RunnableJob>> ListRunnable(int limit) override;
  Result<std::vector<JobId>> ListSweepable(int limit) override;
  Result<std::vector<Chunk>> ListChunks(JobId id, const ChunkFilter& filter) override;
  Result<ChunkItems> FindItems(ChunkKey key) override;
  Result<std::vector<ChunkStat>> ListStats(JobId id, std::int32_t from, int limit) override;
  Result<std::vector<Report>> ListReports(ChunkKey key) override;
  Result<ChunkHistory> FindHistory(ChunkKey key) override;
  Result<OpenReports> ListOpenReports(JobId id, int limit) override;
  Result<std::vector<ListedMachine>> ListMachines(SessionId after, int limit) override;

  Result<RolledUp> RollUp(int limit, const RollUpMaker& make) override;
  Result<ChangeMark> ReadChange() override;
  Result<void> Announce() override;
  Result<StoreState> Dump(std::optional<JobId> only, Bodies bodies) override;

 private:
  struct JobRow {
    Job job;
    std::vector<StoredChunk> chunks;
    std::vector<std::string> bodies;   // one a chunk
    std::vector<std::string> digests;  // one a part
    std::int64_t touched_us = 0;
    bool AllDone() const;
    bool AnyFree() const;
    Counts Count() const;
  };
  struct SessionRow {
    Session session;
    std::int64_t expires_us = 0;
    std::int64_t joined_us = 0;
    std::int64_t seen_us = 0;
    std::optional<MachineStatus> status;
    std::int64_t dead_us = 0;
  };
  class ExchangeRun;

  Result<JobRow*> Row(JobId id);
  Result<Job> Move(JobId id, JobState from, JobState to, const std::string& reason);
  void Revoke(JobRow& row, std::vector<SessionId>& revoked);
  void LoseLease(const Lease& lease, Reaped& reaped);

  const std::function<std::int64_t()> clock_us_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<JobId, JobRow> jobs_;
  std::int64_t last_job_ = 0;  // a number is never used again, though its draft was dropped
  std::map<SessionId, SessionRow> sessions_;
  std::map<LeaseId, Lease> leases_;
  std::map<std::pair<JobId, std::int64_t>, ItemTry> tries_;
  std::map<std::pair<LeaseId, std::int32_t>, Report> reports_;
  std::map<std::pair<ChunkKey, std::int32_t>, ChunkStat> stats_;
  std::int64_t change_ = 0;
};

}  // namespace tidemill
