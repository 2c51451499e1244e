// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "base/planted.h"
#include "model/token.h"
#include "store/memory/memory_store.h"
#include "store/retries.h"
#include "store/rules.h"

namespace tidemill {

// One exchange, in three passes over its syncs: sessions live on, settlements are recorded, leases
// are granted. What is settled by one agent can so be granted to another at once.
class MemoryStore::ExchangeRun {
 public:
  ExchangeRun(MemoryStore& store, const Exchange& exchange)
      : store_(store), exchange_(exchange), now_us_(store.clock_us_()) {
    result_.syncs.resize(exchange.syncs.size());
  }

  ExchangeResult Run() {
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) Renew(i);
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      if (!result_.syncs[i].lost) Believe(exchange_.syncs[i]);
    }
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      if (!result_.syncs[i].lost) SettleAll(i);
    }
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      if (!result_.syncs[i].lost) Compare(i);
    }
    for (std::size_t choice = 0; choice < limits::kAsksPerSync; ++choice) GrantAll(choice);
    CountOwed();
    result_.dry.assign(dry_.begin(), dry_.end());
    result_.freed.assign(freed_.begin(), freed_.end());
    result_.chunk_done.assign(chunk_done_.begin(), chunk_done_.end());
    for (const auto& [job, trouble] : troubles_) result_.troubles.push_back(trouble);
    return std::move(result_);
  }

 private:
  // A sync that may get a lease, and what it asks for.
  struct Want {
    std::size_t sync = 0;
    const Ask* ask = nullptr;
  };

  void Renew(std::size_t i) {
    const SyncOrder& order = exchange_.syncs[i];
    SyncResult& result = result_.syncs[i];
    SessionRow* const found = store_.sessions_.FindLive(order.session);
    const std::string shown = HashToken(order.token);
    const bool late = found != nullptr && found->expires_us < now_us_;
    if (found == nullptr || !IsGood(store_.TokensOf(*found), shown, order.token_life) ||
        (late && Planted(Plant::kLateRefused))) {
      result.lost = true;
      return;
    }
    SessionRow& row = *found;
    row.seen_us = now_us_;
    const bool unwritten = Planted(Plant::kLostHeartbeats) && i % 2 == 1;
    if (!unwritten) row.expires_us = row.seen_us + order.life.count();
    if (order.status) row.status = order.status;
    result.draining = row.session.state == SessionState::kDraining;
    result.project = row.session.project;
    result.machine = row.session.machine;
    result.pool = row.session.pool;
    result.shape = row.session.shape;
    if (row.address != order.address) result.before_from = row.address;
    row.address = order.address;
    Turn(row, order, shown, result);
  }

  void Turn(SessionRow& row, const SyncOrder& order, const std::string& shown, SyncResult& result) {
    switch (TurnOf(store_.TokensOf(row), shown, !order.spare.empty(), order.token_life)) {
      case TokenTurn::kNone:
        break;
      case TokenTurn::kPromote:
        row.token = std::exchange(row.next_token, {});
        row.token_us = now_us_;
        break;
      case TokenTurn::kOffer:
        row.next_token = HashToken(order.spare);
        result.token = order.spare;
        break;
    }
  }

  // Before anything is settled: a sync may return the lease with the trouble.
  void Believe(const SyncOrder& order) {
    const LeaseTable::Owed& owed = store_.leases_.OwedBy(order.session);
    for (const Trouble& trouble : order.troubles) {
      if (owed.contains(trouble.job)) troubles_.emplace(trouble.job, trouble);
    }
  }

  void SettleAll(std::size_t i) {
    const SyncOrder& order = exchange_.syncs[i];
    for (const Settlement& settlement : order.settlements) {
      const Lease* const found = store_.leases_.Find(settlement.lease);
      if (found == nullptr) continue;
      if (found->session != order.session && !Planted(Plant::kNoFence)) continue;
      Settle(*found, settlement, result_.syncs[i]);
    }
    if (order.leaving) Leave(order.session);
  }

  // The lease may be over by this.
  void Settle(const Lease& lease, const Settlement& settlement, SyncResult& result) {
    if (auto why = WhyRefused(settlement, lease.mine.length())) {
      result.refused.push_back({lease.id, settlement.seq, *why});
      return;
    }
    const SettleMasks masks = MasksOf(lease.mine, settlement);
    if (Planted(Plant::kReportAdds)) CountAgain(lease, settlement);
    if (masks.settled().Any() && store_.reports_.Has(lease, settlement.seq) &&
        !Planted(Plant::kSeqOverwrites)) {
      result.refused.push_back({lease.id, settlement.seq, kSeqTaken});
      return;
    }
    const Chunk& chunk = store_.ChunkOf(lease.chunk);
    store_.sessions_.At(lease.session).attempts += (masks.ok | masks.failed).Count();
    const Bits ended = Apply(lease, masks);
    if (masks.settled().Any()) {
      store_.reports_.Add({lease.id, settlement.seq, lease.chunk, lease.round, ReportKind::kAgent,
                           masks.settled(), ended, settlement.body});
    }
    store_.leases_.Settle(lease.id, masks.all());
    result_.outcomes += ended.Count();
    if (masks.back.Any()) freed_.insert(chunk.key.job);
    if (ended.Any() && chunk.AllDone()) chunk_done_.insert(chunk.key.job);
  }

  // Planted: what was told before is counted once more.
  void CountAgain(const Lease& lease, const Settlement& settlement) {
    const Chunk& chunk = store_.ChunkOf(lease.chunk);
    const Bits others = (chunk.resting | chunk.leased) - lease.mine;
    for (const int offset : MasksOf(others, settlement).failed.Indexes()) {
      ++store_.tries_.Of(chunk, offset).counts.attempts;
    }
  }

  // Moves what was settled; returns what is done by it.
  Bits Apply(const Lease& lease, const SettleMasks& masks) {
    const Bits exhausted = CountTries(store_.ChunkOf(lease.chunk), lease, masks);
    Bits ended;
    store_.Change(lease.chunk, [&](StoredChunk& stored) {
      ended = ApplySettlement(stored.chunk, masks, exhausted, lease.tried);
    });
    return ended;
  }

  // Those that are not tried again.
  Bits CountTries(const Chunk& chunk, const Lease& lease, const SettleMasks& masks) {
    const RetryRules rules = RulesOf(store_.jobs_.at(chunk.key.job).job.spec);
    Bits exhausted(chunk.length());
    const auto rest = [&](int offset, std::optional<Duration> wait) {
      if (!wait) {
        exhausted.Set(offset);
        return;
      }
      store_.tries_.SetDue(chunk, offset, now_us_ + wait->count());
      if (*wait == Duration::zero()) freed_.insert(chunk.key.job);
    };
    for (const int offset : masks.failed.Indexes()) {
      TryRow& row = store_.tries_.Of(chunk, offset);
      rest(offset, CountFailure(row, rules, lease, masks.final.Get(offset)));
    }
    for (const int offset : masks.memory.Indexes()) {
      rest(offset, CountOutOfMemory(store_.tries_.Of(chunk, offset), rules, lease));
    }
    if (Planted(Plant::kInterruptionTries)) {
      for (const int offset : masks.back.Indexes())
        ++store_.tries_.Of(chunk, offset).counts.attempts;
    }
    if (!lease.tried) return exhausted;
    for (const int offset : masks.back.Indexes()) rest(offset, Duration::zero());
    for (const int offset : masks.ok.Indexes()) {
      Blame(BlamedBy(store_.tries_.Of(chunk, offset), lease));
    }
    return exhausted;
  }

  void Blame(SessionId session) {
    SessionRow* const live = store_.sessions_.FindLive(session);
    if (live != nullptr) ++live->blamed;
  }

  void Leave(SessionId session) {
    const LeaseTable::Ids ids = store_.leases_.OfSession(session);
    for (const LeaseId& id : ids) {
      const Lease& lease = store_.leases_.At(id);
      Apply(lease, AllBack(lease.mine));
      freed_.insert(lease.chunk.job);
      store_.leases_.End(id);
    }
    store_.Bury(store_.sessions_.At(session));
  }

  tidemill::Grant GrantOf(const Lease& lease) {
    const Chunk& chunk = store_.ChunkOf(lease.chunk);
    tidemill::Grant grant{lease, chunk.first_item, {}};
    for (const int offset : lease.mine.Indexes()) {
      const TryRow* const row = store_.tries_.Find(lease.chunk.job, chunk.first_item + offset);
      if (row != nullptr) grant.tries.push_back(row->counts);
    }
    return grant;
  }

  // Leases that the agent does not know are given again: the answer that brought them was lost.
  void Compare(std::size_t i) {
    const SyncOrder& order = exchange_.syncs[i];
    SyncResult& result = result_.syncs[i];
    for (const LeaseId& known : order.known) {
      const Lease* const found = store_.leases_.Find(known);
      if (found == nullptr || found->session != order.session) result.gone.push_back(known);
    }
    for (const LeaseId& id : store_.leases_.OfSession(order.session)) {
      if (std::find(order.known.begin(), order.known.end(), id) != order.known.end()) continue;
      result.grants.push_back(GrantOf(store_.leases_.At(id)));
    }
  }

  void CountOwed() {
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      if (result_.syncs[i].lost) continue;
      result_.syncs[i].owed = store_.leases_.OwedBy(exchange_.syncs[i].session);
    }
  }

  bool MayHave(const SyncOrder& order, const SyncResult& result, std::size_t wanted) const {
    if (result.lost || !result.grants.empty()) return false;
    if (store_.sessions_.At(order.session).session.state != SessionState::kAlive) return false;
    const std::size_t held = store_.leases_.OfSession(order.session).size();
    return held + wanted < limits::kLeasesPerSession;
  }

  bool IsOfAnother(const std::string& project, JobId job) const {
    const auto found = store_.jobs_.find(job);
    return found != store_.jobs_.end() && found->second.job.state == JobState::kActive &&
           found->second.job.project != project;
  }

  // Who may have one is decided before any is granted, so that the order of the jobs does not
  // matter.
  void GrantAll(std::size_t choice) {
    std::map<SessionId, std::size_t> wanted;
    std::map<JobId, std::vector<Want>> wants;
    for (std::size_t i = 0; i < exchange_.syncs.size(); ++i) {
      const SyncOrder& order = exchange_.syncs[i];
      if (choice >= order.asks.size()) continue;
      if (!MayHave(order, result_.syncs[i], wanted[order.session])) continue;
      const Ask& ask = order.asks[choice];
      if (IsOfAnother(result_.syncs[i].project, ask.job)) continue;
      ++wanted[order.session];
      wants[ask.job].push_back({i, &ask});
    }
    for (auto& [job, job_wants] : wants) {
      std::stable_partition(job_wants.begin(), job_wants.end(),
                            [](const Want& want) { return GoesFirst(*want.ask); });
      GrantJob(job, job_wants);
    }
  }

  // Items that are to be tried again go first. What is left over is asked for again soon if it is
  // due and fits, but for a while belongs to others.
  void GrantJob(JobId job, const std::vector<Want>& wants) {
    furthest_ = 0;
    std::vector<DueItem> due = DueItems(job, LargestRoom(AsksOf(wants)), kDueRows);
    std::vector<Want> left;
    for (const Want& want : wants) {
      if (!GrantRetries(want, due) && !GrantFree(want)) left.push_back(want);
    }
    // Of a job that has no items of one kind nothing is known.
    const bool any = std::any_of(left.begin(), left.end(), [](const Want& want) {
      return want.ask->worn == WornItems::kAlso;
    });
    if (!any && IsActive(job)) return;
    if (left.empty()) return;
    const bool waits = !DueItems(job, LargestRoom(AsksOf(left)), 1).empty();
    (waits ? freed_ : dry_).insert(job);
  }

  static std::vector<const Ask*> AsksOf(const std::vector<Want>& wants) {
    std::vector<const Ask*> asks;
    for (const Want& want : wants) asks.push_back(want.ask);
    return asks;
  }

  bool IsActive(JobId job) const {
    const auto found = store_.jobs_.find(job);
    return found != store_.jobs_.end() && found->second.job.state == JobState::kActive;
  }

  // Those due longest first.
  std::vector<DueItem> DueItems(JobId job, std::int64_t room, std::size_t most) const {
    std::vector<DueItem> due;
    if (!IsActive(job)) return due;
    for (const auto& [due_us, item] : store_.tries_.RestsOf(job)) {
      if (due_us > now_us_ || due.size() == most) break;
      const TryRow& row = *store_.tries_.Find(job, item);
      if (row.counts.memory_bytes > room) continue;
      due.push_back({item, row.chunk, row.counts.memory_bytes, row.counts.lost >= 2, row.blamed,
                     Duration(now_us_ - due_us)});
    }
    return due;
  }

  bool GrantRetries(const Want& want, std::vector<DueItem>& due) {
    const SessionId session = exchange_.syncs[want.sync].session;
    const std::vector<std::size_t> picked = PickRetries(due, *want.ask, session);
    if (picked.empty()) return false;
    const Chunk& chunk = store_.ChunkOf({want.ask->job, due[picked.front()].chunk});
    Bits items(chunk.length());
    for (const std::size_t i : picked) {
      const int offset = static_cast<int>(due[i].item - chunk.first_item);
      items.Set(offset);
      store_.tries_.SetNotDue(chunk, offset);
    }
    store_.Change(chunk.key, [&](StoredChunk& stored) { GrantResting(stored.chunk, items); });
    const std::int64_t memory = std::max(due[picked.front()].memory_bytes, want.ask->memory_bytes);
    for (auto it = picked.rbegin(); it != picked.rend(); ++it) {
      due.erase(due.begin() + static_cast<std::ptrdiff_t>(*it));
    }
    Give(want, {want.ask->lease, session, chunk.key, chunk.round, items, memory, true});
    return true;
  }

  // False if nothing is free.
  bool GrantFree(const Want& want) {
    const Ask& ask = *want.ask;
    const Chunk* chunk = FindFree(ask.job, ask.worn);
    if (chunk == nullptr) return false;
    const Bits items = PickFree(*chunk, ask);
    if (items.None()) return true;
    store_.Change(chunk->key, [&](StoredChunk& stored) { GrantItems(stored.chunk, items); });
    Give(want, {ask.lease, exchange_.syncs[want.sync].session, chunk->key, chunk->round, items,
                ask.memory_bytes, false});
    // The cursor is where the furthest of the job's wants was served.
    const std::int32_t way = WayTo(*chunk);
    if (ask.worn != WornItems::kOnly && way >= furthest_) {
      furthest_ = way;
      result_.cursors[ask.job] = chunk->key.chunk;
    }
    return true;
  }

  void Give(const Want& want, const Lease& lease) {
    store_.leases_.Add(lease);
    store_.jobs_.at(lease.chunk.job).granted_us = now_us_;
    result_.syncs[want.sync].grants.push_back(GrantOf(lease));
  }

  std::int32_t CursorOf(JobId job) const {
    const auto cursor = exchange_.cursors.find(job);
    if (cursor == exchange_.cursors.end() || cursor->second < 0) return 0;
    return cursor->second < store_.jobs_.at(job).job.chunks ? cursor->second : 0;
  }

  // How many chunks a search from the cursor on has passed when it comes to this one.
  std::int32_t WayTo(const Chunk& chunk) const {
    const std::int32_t way = chunk.key.chunk - CursorOf(chunk.key.job);
    return way >= 0 ? way : way + store_.jobs_.at(chunk.key.job).job.chunks;
  }

  // From the cursor on, then from the start. Suspects are few, and need no cursor.
  const Chunk* FindFree(JobId job, WornItems worn) const {
    if (!IsActive(job)) return nullptr;
    const JobChunks& chunks = store_.jobs_.at(job).chunks;
    const JobChunks::Numbers& free = chunks.FreeFor(worn);
    if (free.empty()) return nullptr;
    auto next = free.lower_bound(worn == WornItems::kOnly ? 0 : CursorOf(job));
    if (next == free.end()) next = free.begin();
    return &chunks.at(*next).chunk;
  }

  MemoryStore& store_;
  const Exchange& exchange_;
  const std::int64_t now_us_;
  ExchangeResult result_;
  std::int32_t furthest_ = 0;  // of the job that is served now: see WayTo
  std::set<JobId> dry_;
  std::set<JobId> freed_;
  std::set<JobId> chunk_done_;
  std::map<JobId, Trouble> troubles_;
};

Result<ExchangeResult> MemoryStore::Run(const Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  return ExchangeRun(*this, exchange).Run();
}

}  // namespace tidemill
