// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/exchange.h"
#include "store/postgres/connection.h"
#include "store/retries.h"
#include "store/rows.h"
#include "store/rules.h"

namespace tidemill {

// One exchange as one transaction. Its round trips do not grow with the syncs, nor with the jobs
// that are asked for, but with those that have too little in the first chunks that are found: there
// are five as a rule, and two when agents only show that they live.
//
//   1. sessions are locked and live on; leases to settle are locked; their other leases are read
//   2. the chunks of those leases are locked and read, if anything is settled
//   3. what is known of items that failed, or had failed before, is read, if there are any
//   4. items whose retries are due and chunks with free items are locked, skipping those of others,
//      if anything is asked for
//   5. reports, chunks and leases are written, COMMIT
//
// Up to 3 it may wait for locks, and from 4 on it never does.
//
// Every row is locked before anything is decided by it, in the order that all transactions keep.
class ExchangeRun {
 public:
  ExchangeRun(Transaction& transaction, const Exchange& exchange);
  Result<ExchangeResult> Run();

 private:
  using ReportKey = std::pair<LeaseId, std::int32_t>;
  // What a settlement does to its lease.
  struct Plan {
    LeaseId lease;
    const Settlement* settlement = nullptr;  // null: the agent leaves, and gives all back
    SettleMasks masks;
    Bits exhausted;  // of its failures: not tried again
  };
  // A sync that may get a lease, and what it asks for.
  struct Want {
    std::size_t sync = 0;
    const Ask* ask = nullptr;
  };

  // How a session is known.
  struct Pass {
    std::string project;
    std::string machine;
    std::string pool;
    Resources shape;
    std::string address;
    SessionTokens tokens;
    bool promoted = false;
    bool changed = false;
  };

  Result<void> LockSessionsAndLeases();
  void ReadPasses(const Rows& rows);
  void Admit(std::size_t sync);
  void SendPasses();
  void SendAttempts();
  void BelieveTroubles();
  Result<void> LockChunksToSettle();
  void PlanAll();
  void PlanOne(SyncResult& result, Lease& lease, const Settlement& settlement);
  Result<void> CountTries();
  void CountPlan(Plan& plan, const RetryRules& rules);
  TryRow& TryOf(const Chunk& chunk, int offset) { return TryIn(tries_, chunk, offset); }
  void Rest(Plan& plan, const Chunk& chunk, int offset, std::optional<Duration> wait);
  void TellTries();
  void SettleAll();
  Result<void> Compare();
  Result<void> GrantAll();
  Result<void> GrantChoice(std::map<JobId, std::vector<Want>>& wants);
  Result<std::vector<DueItem>> ReadDue(JobId job, const Rows& rows);
  bool GrantRetries(const Want& want, std::vector<DueItem>& due);
  struct Search {
    JobId job;
    std::int32_t from = 0;
    std::int32_t to = 0;
    int limit = 0;
    WornItems worn = WornItems::kAlso;
  };
  // What is asked for of one job, and what was found at the first look. Wants are served from the
  // back, and the suspects before the others.
  struct JobWants {
    std::vector<Want> suspects;  // those of kOnly
    std::vector<Want> others;
    std::optional<Search> suspect_search;
    std::optional<Search> other_search;
  };
  void FirstLook(JobId job, JobWants& wants);
  // From what is due, as it was found.
  Result<void> GrantDue(JobId job, const Rows& rows, JobWants& wants);
  Result<void> GrantJob(JobId job, const std::vector<Rows>& answers, std::size_t& next,
                        JobWants& wants);
  // All that the job has, `first` being what `search` has found of it.
  Result<void> GrantAllFrom(const Search& search, const Rows& first, std::vector<Want>& wants);
  Result<void> CallDry(JobId job, const JobWants& wants);
  Result<void> GrantFrom(Search search, std::vector<Want>& wants);
  std::int32_t CursorOf(JobId job) const;
  static int ChunksFor(const std::vector<Want>& wants);
  static std::int64_t RoomOf(const std::vector<Want>& wants);
  static WornItems WornOf(const std::vector<Want>& wants);
  void SendFindFree(const Search& search);
  // Grants from what such a search has found; answers up to which chunk it has looked.
  std::int32_t GrantFound(const Search& search, const Rows& rows, std::vector<Want>& wants);
  // False if the chunk has nothing for it.
  bool GrantOne(Chunk& chunk, const Want& want);
  void Give(const Want& want, const Chunk& chunk, const Lease& lease);
  // `wanted`: how many leases its session is about to get already.
  bool MayHave(std::size_t sync, std::size_t wanted) const;
  void CountOwed();
  Result<void> Write();
  void SendLeases();
  // False if nothing was granted.
  bool SendTries();
  void AddTries(const Rows& rows);

  Transaction& transaction_;
  const Exchange& exchange_;
  ExchangeResult result_;
  std::map<SessionId, SessionState> sessions_;
  std::vector<std::string> shown_;              // the hash of each sync's token
  std::map<SessionId, Pass> passes_;            // of the sessions, as they will be
  std::map<JobId, std::string> active_;         // of the jobs that are asked for: their projects
  std::map<LeaseId, Lease> leases_;             // of these sessions, as they will be
  std::set<LeaseId> settled_;                   // of those: owe less than before
  std::set<LeaseId> granted_;                   // of those: new
  std::map<SessionId, std::int64_t> attempts_;  // that each session has settled by this
  std::map<SessionId, std::size_t> held_;       // how many leases each session has
  std::map<ChunkKey, Chunk> chunks_;            // locked, as they will be
  std::set<ChunkKey> changed_;
  std::set<ReportKey> taken_;  // stored before, or by this transaction
  std::vector<Plan> plans_;
  std::vector<Report> reports_;
  // Of items that failed, or had failed before, as it will be, and how long each rests from now on;
  // nothing: it does not.
  TryRows tries_;
  std::map<std::pair<JobId, std::int64_t>, std::optional<Duration>> rests_;
  std::map<SessionId, std::int64_t> blamed_;  // how often each is, by this transaction
  std::set<JobId> dry_;
  std::set<JobId> freed_;
  std::set<JobId> chunk_done_;
};

}  // namespace tidemill
