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
#include "store/check.h"
#include "store/ledger_store.h"
#include "store/memory/job_row.h"
#include "store/memory/lease_table.h"
#include "store/memory/machine_row.h"
#include "store/memory/notify_table.h"
#include "store/memory/report_table.h"
#include "store/memory/session_table.h"
#include "store/memory/stream_table.h"
#include "store/memory/touched.h"
#include "store/memory/try_table.h"
#include "store/notify_store.h"
#include "store/plan_store.h"
#include "store/retries.h"
#include "store/rules.h"
#include "store/settings_store.h"
#include "store/standing_store.h"
#include "store/store.h"

namespace tidemill {

// The store as maps: for the simulator, and as the plain statement of what a store must do. What a
// call takes depends on what it is about, not on all that is stored: a million items are nothing.
// Any thread; nothing survives it.
class MemoryStore : public Store,
                    public AccessStore,
                    public LedgerStore,
                    public NotifyStore,
                    public SettingsStore,
                    public StandingStore,
                    public PlanStore {
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
  Result<SessionId> AskStream(const NewStream& stream) override;
  Result<void> EndStream(StreamId id) override;
  Result<StoreState> Dump(std::optional<JobId> only, Bodies bodies) override;

  // For a check after each call, of no more than the call may have changed: from WatchTouched on,
  // TakeTouched answers which chunks that are since it was last called, ascending.
  void WatchTouched();
  std::vector<ChunkKey> TakeTouched();
  // Of a chunk that is there.
  ChunkState DumpChunk(ChunkKey key);

  Result<std::vector<LedgerJob>> ListLedgerJobs(JobId after, int limit) override;
  Result<void> MarkLedgerItems(JobId id, std::int32_t chunks) override;
  Result<void> MarkLedgerState(JobId id, JobState state, std::int32_t round) override;
  Result<std::vector<ChunkStat>> ListLedgerStats(int limit) override;
  Result<void> MarkLedgerStat(const ChunkStat& stat) override;

  Result<Added> AddItems(JobId id, const NewItems& items) override;
  Result<std::int64_t> ForgetMarks(Duration age, int limit) override;
  Result<std::vector<JobId>> ListPackable(const PackAges& ages, int limit) override;
  Result<PackedAway> PackChunks(JobId id, const PackAges& ages, int limit) override;
  Result<PackedItems> FindPacked(JobId id) override;

  Result<std::vector<Job>> ListUntold(JobId after, int limit) override;
  Result<bool> Tell(const Job& seen, const std::vector<NewNotification>& made) override;
  Result<std::vector<Job>> ListBudgets(JobId after, int limit) override;
  Result<bool> TellBudget(const Job& seen, const std::vector<NewNotification>& made) override;
  Result<std::vector<DueNotification>> TakeDue(const DueFilter& filter) override;
  Result<void> EndTry(NotificationId id, std::int32_t tries, const TryEnd& end) override;
  Result<std::vector<Notification>> ListNotifications(JobId job) override;

  Result<Project> PutProject(const std::string& name, const ProjectLimits& limits) override;
  Result<Project> FindProject(const std::string& name) override;
  Result<Project> SetCloudRoles(const std::string& project,
                                const std::vector<std::string>& roles) override;
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

  Result<std::optional<std::int64_t>> Lead(const std::string& holder, Duration life) override;
  Result<void> StepDown(const std::string& holder) override;
  Result<void> SeeMachines(const ProviderLook& look) override;
  Result<std::optional<std::string>> FindMachineById(const std::string& project,
                                                     const std::string& pool,
                                                     const std::string& id) override;
  Result<Snapshots> ReadSnapshots() override;
  Result<void> WritePlans(std::int64_t epoch, const std::map<std::string, Plan>& plans) override;
  Result<PlanInForce> ReadPlan() override;
  Result<std::vector<MachineKey>> OrderMachines(const std::string& project, const std::string& pool,
                                                std::int64_t first, std::int64_t count,
                                                Money price) override;
  Result<void> DrainMachine(const MachineKey& key) override;
  Result<bool> EndMachine(const MachineKey& key, MachineState seen) override;
  Result<void> DropOrder(const MachineKey& key) override;
  Result<void> SetProviderWord(const std::string& project, const std::string& pool,
                               const ProviderWord& word) override;
  Result<void> ForgiveNeverJoined(const std::string& project, const std::string& pool) override;
  Result<void> EndAfter(JobId job, JobId other, const std::string& reason) override;
  Result<void> PutDown(const std::vector<PutDownMachine>& machines) override;
  Result<void> SetLost(JobId job, Duration time, Money amount) override;
  Result<std::vector<JobMoney>> ReadMoney(const std::vector<JobId>& jobs) override;
  Result<std::vector<Entry>> ReadOverhead(const std::string& project) override;
  Result<void> HearTimes(const std::string& server, const std::vector<HeardTimes>& times) override;

  // --- for whoever watches ---

  std::optional<Lease> FindLease(LeaseId id);
  // Its machine has joined anew with another session.
  bool IsReplaced(SessionId id);

 private:
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
  struct Leader {
    std::string holder;
    std::int64_t epoch = 0;
    TimePoint until{};
    std::int64_t plan_seq = 0;
  };
  using PoolKey = std::pair<std::string, std::string>;
  class ExchangeRun;
  class MachineWatch;

  Result<JobRow*> Row(JobId id);
  const Chunk& ChunkOf(ChunkKey key) const { return jobs_.at(key.job).chunks.at(key.chunk).chunk; }
  // Every change of a chunk goes through here, and of a job's state through Enter.
  void Change(ChunkKey key, const std::function<void(StoredChunk&)>& change);
  void Enter(JobRow& row, JobState state);
  void Append(JobRow& row, const std::vector<NewChunkItems>& chunks);
  std::int32_t Today() const;
  // Whether the chunk may be packed away by its age, wherever its record is.
  bool IsOld(const OverMark& mark, const PackAges& ages) const;
  void Bury(SessionRow& row);
  void DropJob(JobId id);
  JobDump DumpJob(const JobRow& row, Bodies bodies) const;
  Result<Job> Move(JobId id, JobState from, JobState to, const std::string& reason);
  void Revoke(JobRow& row, std::vector<SessionId>& revoked);
  void ParkSome(JobRow& row);
  void LoseLease(const Lease& lease, std::int64_t now_us, Reaped& reaped);
  std::int64_t CountDue(JobId job) const;
  std::int64_t NowMs() const { return clock_us_() / 1000; }
  SessionTokens TokensOf(const SessionRow& row) const;
  bool IsGoodNow(const Token& token) const;
  bool HasProject(const std::string& name) const { return projects_.contains(name); }
  ProjectLimits LimitsOf(const std::string& project) const;
  PoolSettings SettingsOf(const Pool& pool) const;
  Result<void> MayGrow(const Job& job, std::int64_t more) const;
  TimePoint Now() const { return TimePoint(Duration(clock_us_())); }
  bool HasLease(SessionId session) const { return !leases_.OfSession(session).empty(); }
  // It was ordered, and drains or is about to be ended.
  bool IsLeaving(const NewSession& session) const;
  void CountWaiting(const JobRow& row, PlanJob& job) const;
  PlanJob PlanJobOf(const JobRow& row) const;
  PlanMachine PlanMachineOf(const MachineKey& key, const MachineRow& row,
                            const std::map<JobId, Resources>& needs) const;

  const std::function<std::int64_t()> clock_us_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<JobId, JobRow> jobs_;
  std::map<JobId, JobRow*> under_way_;  // of jobs_: those that are neither finished nor cancelled
  std::map<std::pair<std::string, std::string>, JobId> job_keys_;  // by project and key
  std::set<ChunkKey> to_roll_up_;
  std::int64_t last_job_ = 0;         // a number is never used again, though its draft was dropped
  std::vector<SessionId> seen_over_;  // by the reaper when it last looked, if Plant::kReapUnlocked
  std::map<JobId, std::int64_t> followed_;  // until when
  StreamTable streams_;
  TouchedChunks touched_;
  SessionTable sessions_;
  LeaseTable leases_{touched_};
  TryTable tries_{touched_};
  ReportTable reports_{touched_};
  StatTable stats_{touched_};
  std::map<JobId, LedgerMarks> ledger_;
  NotifyTable notify_;
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
  Leader leader_;
  std::map<std::string, Plan> plans_;  // by project
  std::map<MachineKey, MachineRow> machine_rows_;
  std::map<PoolKey, PoolMarks> pool_marks_;  // of some pools that are there
  // Of a job (project ""), or what no job is to pay of a project (job 0).
  std::map<std::tuple<JobId, std::string, Account>, Entry> spend_;
  std::map<std::pair<JobId, std::string>, HeardTimes> times_;  // by job and server
  std::map<TokenId, TokenRow> tokens_;
  std::map<std::string, TokenId> token_hashes_;
  std::map<std::string, BrowserRow> browsers_;  // by hash
  std::map<std::pair<std::string, std::string>, SecretRow> secrets_;
  std::vector<AuditRow> audit_;
};

}  // namespace tidemill
