// SPDX-License-Identifier: Apache-2.0
#include "server/lease_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "report/block.h"

namespace tidemill {
namespace {

// Jobs that are counted at a time: far more than a board holds of one project.
constexpr std::size_t kMostTallies = 10'000;
// The longest wait for a retry is 5 minutes; what has been counted before it still counts.
constexpr Duration kTallyLife = std::chrono::minutes(15);

bool IsRefused(const SyncResult& result, const Settlement& settlement) {
  return std::any_of(result.refused.begin(), result.refused.end(), [&](const Refusal& refusal) {
    return refusal.lease == settlement.lease && refusal.seq == settlement.seq;
  });
}

}  // namespace

void LeaseWatch::Learn(const SyncRequest& request, const SyncResult& result, TimePoint now) {
  if (result.grants.empty() && !sessions_.contains(request.session)) return;
  Leases& leases = sessions_[request.session];
  for (const Settlement& settlement : request.settlements) {
    const auto found = leases.find(settlement.lease);
    if (found == leases.end() || IsRefused(result, settlement)) continue;
    Settle(found->second, settlement, now);
    if (found->second.mine.None()) leases.erase(found);
  }
  Prune(leases, request, result);
  for (const Grant& grant : result.grants) Begin(leases, grant);
  if (request.leaving || leases.empty()) Forget(request.session);
}

void LeaseWatch::Settle(Watched& lease, const Settlement& settlement, TimePoint now) {
  const int length = lease.mine.length();
  const Bits ok = settlement.ok.Resized(length) & lease.mine;
  const Bits ran_out = settlement.memory.Resized(length) & lease.mine;
  const Bits others =
      (settlement.failed.Resized(length) | settlement.back.Resized(length)) & lease.mine;
  const Bits fresh = ok | ran_out | others;
  if (fresh.None()) return;
  lease.mine -= fresh;
  if (!tallies_.contains(lease.job) && tallies_.size() >= kMostTallies) return;
  Tally& tally = tallies_[lease.job];
  tally.touched = now;
  tally.memory.Add({.memory_bytes = lease.memory_bytes,
                    .tried = lease.tried,
                    .succeeded = ok.Count(),
                    .ran_out = ran_out.Count()});
  if (lease.trial > 0 && ok.Any()) tally.trial.AddSucceeded();
  if (lease.trial > 0 && ok.None()) CountTrial(lease, settlement, fresh, tally);
  Judge(lease);
}

// Running out of memory is no failure while there is more to be had.
void LeaseWatch::CountTrial(const Watched& lease, const Settlement& settlement, const Bits& fresh,
                            Tally& tally) {
  const bool has_more = lease.memory_max > lease.memory_bytes;
  const auto rows = DecodeBlock(settlement.body);
  if (!rows) return;
  for (const Outcome& row : *rows) {
    const std::int64_t offset = row.item - lease.first_item;
    if (offset < 0 || offset >= fresh.length() || !fresh.Get(static_cast<int>(offset))) continue;
    const Budget budget = BudgetOf(row.cause);
    if (budget == Budget::kNone || (budget == Budget::kMemory && has_more)) continue;
    tally.trial.AddFailed(row);
  }
}

void LeaseWatch::Judge(const Watched& lease) {
  const auto found = tallies_.find(lease.job);
  if (found == tallies_.end()) return;
  Tally& tally = found->second;
  const std::int64_t start = tally.memory.StartOf(lease.memory_start, lease.memory_max);
  const BoardJob* job = board_.FindJob(lease.job);
  // Of one that is not on the board, what was last said of it.
  const std::int64_t now =
      job != nullptr ? job->resources.memory_bytes : std::max(lease.memory_start, tally.raised_to);
  if (start > now) {
    tally.raised_to = start;
    board_.RaiseMemory(lease.job, start);
    events_.raise_memory(lease.job, start);
  }
  // By the board it may be over already.
  if (lease.trial == 0 || (job != nullptr && job->trial == 0)) return;
  const TrialTally::Verdict verdict = tally.trial.Judge(lease.trial);
  if (verdict == TrialTally::Verdict::kOpen) return;
  const TrialTally judged = std::exchange(tally.trial, {});
  if (verdict == TrialTally::Verdict::kPassed) {
    events_.end_trial(lease.job);
  } else {
    events_.pause_trial(lease.job, judged.Why(lease.job, lease.trial));
  }
}

void LeaseWatch::Prune(Leases& leases, const SyncRequest& request, const SyncResult& result) {
  std::erase_if(leases, [&](const auto& lease) {
    const LeaseId id = lease.first;
    const bool known =
        std::find(request.known.begin(), request.known.end(), id) != request.known.end();
    const bool gone = std::find(result.gone.begin(), result.gone.end(), id) != result.gone.end();
    const bool granted = std::any_of(result.grants.begin(), result.grants.end(),
                                     [id](const Grant& grant) { return grant.lease.id == id; });
    return gone || (!known && !granted);
  });
}

void LeaseWatch::Begin(Leases& leases, const Grant& grant) {
  const BoardJob* const job = board_.FindJob(grant.lease.chunk.job);
  if (job == nullptr || leases.contains(grant.lease.id)) return;
  const bool may_grow = job->memory_max > job->resources.memory_bytes;
  if (job->trial == 0 && !may_grow) return;
  Watched& lease = leases[grant.lease.id];
  lease.job = job->id;
  lease.first_item = grant.first_item;
  lease.mine = grant.lease.mine;
  lease.memory_bytes =
      grant.lease.memory_bytes > 0 ? grant.lease.memory_bytes : job->resources.memory_bytes;
  lease.tried = grant.lease.tried;
  lease.trial = job->trial;
  lease.memory_start = job->resources.memory_bytes;
  lease.memory_max = job->memory_max;
}

void LeaseWatch::ForgetOld(TimePoint now, const std::function<bool(SessionId)>& lives) {
  std::erase_if(sessions_, [&lives](const auto& entry) { return !lives(entry.first); });
  std::erase_if(tallies_,
                [now](const auto& entry) { return now - entry.second.touched > kTallyLife; });
}

}  // namespace tidemill
