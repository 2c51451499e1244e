// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/access_store.h"
#include "store/ledger_store.h"
#include "store/retries.h"
#include "store/rules.h"
#include "store/settings_store.h"
#include "store/store.h"

namespace tidemill {

// The store as maps: for the simulator, and as the plain statement of what a store must do. It goes
// through every row where a real one has an index. Any thread; nothing survives it.
class MemoryStore : public Store, public AccessStore, public LedgerStore, public SettingsStore {
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
  Result<void> EndTrial(JobId id) override;
  Result<void> PauseTrial(JobId id, const std::string& reason) override;
  Result<void> RaiseMemory(JobId id, std::int64_t bytes) override;
  Result<std::string> PinImage(JobId id, const std::string& digest) override;
  Result<Reopened> ReopenJob(JobId id, const ReopenWhich& which) override;
  Result<Swept> SweepJob(JobId id) override;
  Result<std::int64_t> DropStale(Duration age) override;

  Result<Session> Join(const NewSession& session) override;
  Result<void> Drain(SessionId id, const std::string& project) override;
  Result<void> PutAside(SessionId id, const std::string& reason) override;
  // Not the access store's Record, which writes an audit's row.
  Result<std::vector<tidemill::Record>> ListRecords() override;
  Result<Session> CheckPass(const SessionPass& pass, Duration token_life,
                            std::optional<JobId> job) override;
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
  Result<std::vector<ListedMachine>> ListMachines(const MachineFilter& filter) override;

  Result<RolledUp> RollUp(int limit, const RollUpMaker& make) override;
  Result<ChangeMark> ReadChange() override;
  Result<void> Announce() override;
  Result<std::vector<SessionId>> Follow(JobId id, Duration time) override;
  Result<StoreState> Dump(std::optional<JobId> only, Bodies bodies) override;

  Result<std::vector<LedgerJob>> ListLedgerJobs(JobId after, int limit) override;
  Result<void> MarkLedgerItems(JobId id, std::int32_t chunks) override;
  Result<void> MarkLedgerState(JobId id, JobState state, std::int32_t round) override;
  Result<std::vector<ChunkStat>> ListLedgerStats(int limit) override;
  Result<void> MarkLedgerStat(const ChunkStat& stat) override;

  Result<Project> PutProject(const std::string& name, const ProjectLimits& limits) override;
  Result<Project> FindProject(const std::string& name) override;
  Result<std::vector<Project>> ListProjects(const std::string& after, int limit) override;
  Result<Pool> PutPool(const Pool& pool) override;
  Result<Pool> FindPool(const std::string& project, const std::string& name) override;
  Result<std::vector<Pool>> ListPools(const std::string& project, const std::string& after,
                                      int limit) override;
  Result<Token> CreateToken(const NewToken& token) override;
  Result<std::vector<Token>> ListTokens(const TokenFilter& filter) override;
  Result<Token> RevokeToken(const std::string& project, TokenId id) override;
  Result<Caller> FindCaller(const std::string& secret) override;
  Result<void> OpenBrowser(TokenId token, const std::string& cookie, Duration life) override;
  Result<void> CloseBrowser(const std::string& cookie) override;
  Result<JoinPlace> UseJoinToken(const std::string& secret, SessionId session) override;
  Result<void> PutSecret(const std::string& project, const std::string& name,
                         const std::string& sealed, const std::string& by) override;
  Result<void> DropSecret(const std::string& project, const std::string& name) override;
  Result<std::vector<SecretInfo>> ListSecrets(const std::string& project) override;
  Result<std::map<std::string, std::string>> FindSecrets(
      const std::string& project, const std::vector<std::string>& names) override;
  Result<void> Record(const AuditRow& row) override;
  Result<std::vector<AuditRow>> ListAudit(const AuditFilter& filter) override;
  Result<std::int64_t> DropOldAccess(Duration audit_age) override;

  Result<PoolSettings> SetMachines(const std::string& project, const std::string& pool,
                                   const PoolMachines& machines) override;
  Result<PoolSettings> FindPoolSettings(const std::string& project,
                                        const std::string& pool) override;
  Result<std::vector<PoolSettings>> ListPoolSettings(const std::string& project,
                                                     const std::string& after, int limit) override;
  Result<void> DropPool(const std::string& project, const std::string& pool) override;
  Result<Queue> PutQueue(const std::string& project, const Queue& queue) override;
  Result<Queue> FindQueue(const std::string& project, const std::string& name) override;
  Result<std::vector<Queue>> ListQueues(const std::string& project, const std::string& after,
                                        int limit) override;
  Result<void> DropQueue(const std::string& project, const std::string& name) override;
  Result<KeptSpec> PutSpec(const std::string& project, const KeptSpec& spec) override;
  Result<KeptSpec> FindSpec(const std::string& project, const std::string& name,
                            std::optional<std::int32_t> version) override;
  Result<std::vector<KeptSpec>> ListSpecs(const std::string& project, const std::string& after,
                                          int limit) override;
  Result<void> DropSpec(const std::string& project, const std::string& name) override;

 private:
  struct JobRow {
    Job job;
    std::vector<StoredChunk> chunks;
    std::vector<std::string> bodies;   // one a chunk
    std::vector<std::string> digests;  // one a part
    std::int64_t touched_us = 0;
    bool AllDone() const;
    bool AnyFree() const;
    bool AnyWaiting() const;
    Counts Count() const;
  };
  struct SessionRow {
    Session session;
    std::int64_t expires_us = 0;
    std::int64_t joined_us = 0;
    std::int64_t seen_us = 0;
    std::optional<MachineStatus> status;
    std::int64_t dead_us = 0;
    std::string machine_key;  // hashes
    std::string token;
    std::string next_token;
    std::int64_t token_us = 0;
    std::string address;
    std::int64_t attempts = 0;
    std::int64_t blamed = 0;
  };
  struct TokenRow {
    Token token;
    std::set<SessionId> sessions;  // that have joined with it
  };
  struct BrowserRow {
    TokenId token;
    std::int64_t expires_us = 0;
  };
  struct SecretRow {
    SecretInfo info;
    std::string sealed;
  };
  class ExchangeRun;

  Result<JobRow*> Row(JobId id);
  Result<Job> Move(JobId id, JobState from, JobState to, const std::string& reason);
  void Revoke(JobRow& row, std::vector<SessionId>& revoked);
  void ParkSome(JobRow& row);
  void LoseLease(const Lease& lease, std::int64_t now_us, Reaped& reaped);
  // What is kept of an item, from now on if there was nothing.
  TryRow& TryOf(const Chunk& chunk, int offset) { return TryIn(tries_, chunk, offset); }
  std::int64_t CountDue(JobId job) const;
  std::int64_t NowMs() const { return clock_us_() / 1000; }
  SessionTokens TokensOf(const SessionRow& row) const;
  bool IsGoodNow(const Token& token) const;
  bool HasProject(const std::string& name) const { return projects_.contains(name); }
  ProjectLimits LimitsOf(const std::string& project) const;
  PoolSettings SettingsOf(const Pool& pool) const;
  Result<void> MayGrow(const Job& job, std::int64_t more) const;

  const std::function<std::int64_t()> clock_us_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<JobId, JobRow> jobs_;
  std::int64_t last_job_ = 0;  // a number is never used again, though its draft was dropped
  std::map<JobId, std::int64_t> followed_;  // until when
  std::map<SessionId, SessionRow> sessions_;
  std::map<LeaseId, Lease> leases_;
  TryRows tries_;
  std::map<std::pair<LeaseId, std::int32_t>, Report> reports_;
  std::map<std::pair<ChunkKey, std::int32_t>, ChunkStat> stats_;
  struct LedgerMarks {
    std::int32_t chunks = 0;
    int state = -1;
    std::int32_t round = -1;
  };
  std::map<JobId, LedgerMarks> ledger_;
  std::set<std::pair<ChunkKey, std::int32_t>> ledgered_;  // of stats_
  std::int64_t change_ = 0;
  std::map<std::string, Project> projects_ = {
      {std::string(kDefaultProject), {std::string(kDefaultProject), {}, 0}}};
  std::map<std::pair<std::string, std::string>, Pool> pools_ = {
      {{std::string(kDefaultProject), std::string(kDefaultPool)},
       {std::string(kDefaultProject), std::string(kDefaultPool), {}}}};
  // By project and name; a pool that nobody has said anything of is not in it.
  std::map<std::pair<std::string, std::string>, PoolMachines> machines_;
  std::map<std::pair<std::string, std::string>, Queue> queues_;
  std::map<std::pair<std::string, std::string>, std::vector<KeptSpec>> specs_;  // version 1 first
  std::map<TokenId, TokenRow> tokens_;
  std::map<std::string, TokenId> token_hashes_;
  std::map<std::string, BrowserRow> browsers_;  // by hash
  std::map<std::pair<std::string, std::string>, SecretRow> secrets_;
  std::vector<AuditRow> audit_;
};

}  // namespace tidemill
