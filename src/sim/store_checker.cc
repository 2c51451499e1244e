// SPDX-License-Identifier: Apache-2.0
#include "sim/store_checker.h"

#include <algorithm>

#include "store/check.h"

namespace tidemill {
namespace {

// More than any plan has.
constexpr int kMostJobs = 1000;

}  // namespace

// Settlements count for those items that the lease owes now, and only from the session that has it.
void StoreChecker::BeforeRun(const Exchange& exchange) {
  admitted_.clear();
  for (const SyncOrder& sync : exchange.syncs) {
    admitted_.push_back(
        deps_.store.CheckPass({sync.session, sync.token}, sync.token_life, std::nullopt)
            .has_value());
    if (!admitted_.back()) continue;
    for (const Settlement& settlement : sync.settlements) {
      const std::optional<Lease> lease = deps_.store.FindLease(settlement.lease);
      if (!lease || lease->session != sync.session) continue;
      Bits& may = may_end_.try_emplace(lease->chunk, Bits(lease->mine.length())).first->second;
      may |= lease->mine;
    }
  }
}

void StoreChecker::AfterRun(const Exchange& exchange, const ExchangeResult& result) {
  settlements_ += result.outcomes;
  for (std::size_t i = 0; i < exchange.syncs.size(); ++i) {
    const SyncOrder& sync = exchange.syncs[i];
    if (result.syncs[i].lost) {
      // A copy of an older one may come with a token that the newer one has just replaced.
      const auto copies =
          std::count_if(exchange.syncs.begin(), exchange.syncs.end(),
                        [&sync](const SyncOrder& other) { return other.session == sync.session; });
      if (admitted_[i] && copies == 1)
        deps_.breach("S06", "a session that lives was not listened to");
      continue;
    }
    if (!admitted_[i]) deps_.breach("S06", "a session was listened to that is over");
    heard_[sync.session] = {deps_.clock(), sync.life};
    if (sync.leaving) heard_.erase(sync.session);
  }
}

void StoreChecker::AfterReap(const Reaped& reaped) {
  reaping_ = true;
  for (const SessionId& session : reaped.sessions) {
    const auto found = heard_.find(session);
    if (found == heard_.end()) continue;
    const Heard heard = found->second;
    heard_.erase(found);
    if (deps_.clock() >= heard.at + heard.life) continue;
    // One whose machine has joined anew is over before its time.
    if (deps_.store.IsReplaced(session)) continue;
    deps_.breach("S07", "a session was given up that was heard of in time");
  }
}

void StoreChecker::AfterCall() {
  for (const ChunkKey& key : deps_.store.TakeTouched()) {
    const ChunkState state = deps_.store.DumpChunk(key);
    for (const Breach& breach : CheckChunk(state)) deps_.breach(breach.id, breach.what);
    const Chunk& chunk = state.stored.chunk;
    const auto [seen, fresh] = last_seen_.try_emplace(key, chunk);
    if (!fresh) CheckChange(seen->second, chunk);
    seen->second = chunk;
  }
  may_end_.clear();
  reaping_ = false;
}

void StoreChecker::CheckJobs() {
  const Result<std::vector<Job>> jobs =
      deps_.store.ListJobs({.state = {}, .before = {}, .limit = kMostJobs});
  for (const Job& job : *jobs) {
    const JobMark mark{job.state, job.round};
    const auto [seen, fresh] = last_jobs_.try_emplace(job.id, mark);
    const auto breach = CheckMove(PublicId(job), seen->second, mark);
    if (breach) deps_.breach(breach->id, breach->what);
    seen->second = mark;
    if (job.state == JobState::kCancelled) cancelled_.try_emplace(job.id, deps_.clock());
    for (const Breach& count : CheckCounts(*deps_.store.CountItems(job.id))) {
      deps_.breach(count.id, count.what);
    }
  }
}

std::optional<TimePoint> StoreChecker::CancelledAt(JobId job) const {
  const auto found = cancelled_.find(job);
  if (found == cancelled_.end()) return std::nullopt;
  return found->second;
}

// Within a round, what is done stays done, and what it was.
void StoreChecker::CheckChange(const Chunk& before, const Chunk& now) {
  if (before.round != now.round) return;
  const bool kept = now.done.Contains(before.done) && (now.failed & before.done) == before.failed;
  if (!kept) deps_.breach("S05", "an outcome was taken back");
  const Bits news = now.done - before.done;
  if (news.Any()) CheckNews(now, news);
}

void StoreChecker::CheckNews(const Chunk& now, const Bits& news) {
  if (reaping_) {
    if (!now.failed.Contains(news)) deps_.breach("S06", "the reaper recorded a success");
    return;
  }
  const auto may = may_end_.find(now.key);
  if (may == may_end_.end() || !may->second.Contains(news)) {
    deps_.breach("S06", "an outcome was recorded that was not told by who held the item");
  }
  if (!deps_.all_runs_are_known) return;
  for (const int offset : (news - now.failed).Indexes()) {
    const auto& begins = deps_.items.BeginsOf(now.key.job, now.first_item + offset);
    const bool ran = std::any_of(begins.begin(), begins.end(), [this](const ItemBegin& begin) {
      return begin.exit == 0 && begin.would_end <= deps_.clock();
    });
    if (!ran) deps_.breach("S08", "a success was recorded of an item that was not run to its end");
  }
}

}  // namespace tidemill
