// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/access_store.h"
#include "store/ledger_store.h"
#include "store/notify_store.h"
#include "store/plan_store.h"
#include "store/postgres/connection.h"
#include "store/settings_store.h"
#include "store/standing_store.h"
#include "store/store.h"

namespace tidemill {

struct PostgresOptions {
  std::string conninfo;
  // A server needs a few: exchanges in flight, reads of people, its own upkeep.
  int connections = 4;
};

// The store on PostgreSQL 15 or newer. Any thread; a call waits while all connections are in use.
//
// Transactions take their locks in one order, so that none can wait in a circle:
// sessions, leases, chunks, job; each ascending by id. Grants only ever skip what is locked.
class PostgresStore : public Store,
                      public AccessStore,
                      public LedgerStore,
                      public NotifyStore,
                      public SettingsStore,
                      public StandingStore,
                      public PlanStore {
 public:
  explicit PostgresStore(PostgresOptions options) : options_(std::move(options)) {}

  // Brings the schema up to this program's, under a lock: any number of servers may start at once.
  // Answers how many migrations were applied.
  Result<int> Migrate();

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

 private:
  Result<std::unique_ptr<Connection>> Borrow();
  void GiveBack(std::unique_ptr<Connection> connection);

  // Runs `body` in a transaction, again if another transaction was in the way. The body commits.
  template <typename T>
  Result<T> Transact(const std::function<Result<T>(Transaction&)>& body);
  // One statement that is a transaction by itself.
  Result<Rows> Query(const Statement& statement, const Params& params = {});

  const PostgresOptions options_;
  std::mutex mutex_;
  std::condition_variable returned_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<Connection>> idle_;
  int borrowed_ = 0;
};

// Another transaction may be in the way this often before the caller hears of it.
inline constexpr int kTransactionTries = 5;

template <typename T>
Result<T> PostgresStore::Transact(const std::function<Result<T>(Transaction&)>& body) {
  for (int tries = 1;; ++tries) {
    TIDEMILL_TRY(std::unique_ptr<Connection> connection, Borrow());
    bool again = false;
    Result<T> result = [&]() -> Result<T> {
      Transaction transaction(*connection);
      Result<T> tried = body(transaction);
      again = !tried && connection->contended() && tries < kTransactionTries;
      return tried;
    }();
    GiveBack(std::move(connection));
    if (!again) return result;
  }
}

}  // namespace tidemill
