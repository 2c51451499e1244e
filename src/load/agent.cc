// SPDX-License-Identifier: Apache-2.0
#include "load/agent.h"

#include <algorithm>
#include <utility>

#include "report/block.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kGossip = 32;
constexpr std::size_t kSaidKept = 4;
constexpr Duration kFirstRetry = milliseconds(100);
constexpr Duration kLongestRetry = seconds(3);

}  // namespace

void Gossip::Hear(LeaseId lease, Random& random) {
  if (leases.size() < kGossip) {
    leases.push_back(lease);
  } else {
    leases[random.Below(kGossip)] = lease;
  }
}

PlayedAgent::PlayedAgent(Deps deps, const Script& script, std::string machine)
    : deps_(deps), script_(script), machine_(std::move(machine)) {}

template <typename Call>
auto PlayedAgent::InThisLife(Call call) {
  return [this, life = life_, alive = std::weak_ptr<char>(alive_),
          call = std::move(call)](auto&&... values) mutable {
    if (alive.expired() || life != life_) return;
    call(std::forward<decltype(values)>(values)...);
  };
}

void PlayedAgent::After(Duration delay, std::function<void()> call) {
  deps_.loop.After(delay, InThisLife(std::move(call)));
}

void PlayedAgent::Start() { BeginLife(Duration::zero()); }

void PlayedAgent::Leave() {
  leaving_ = true;
  SyncNow();
}

void PlayedAgent::BeginLife(Duration delay) {
  ++life_;
  pass_ = {deps_.random.NewId<SessionId>(), {}};
  held_.clear();
  outbox_.clear();
  said_.clear();
  measured_.clear();
  fetched_.clear();
  failures_ = 0;
  sent_ = 0;
  syncing_ = false;
  sync_again_ = false;
  waiting_ = false;
  leaves_ = false;
  if (leaving_) {
    gone_ = true;
    return;
  }
  After(delay, [this] { Join(); });
}

void PlayedAgent::Join() {
  // A machine of its own for each life: one that comes back under its old name ends its old
  // session, and a vanished one must be found missing.
  const std::string machine = machine_ + "." + std::to_string(life_);
  deps_.link.Join({pass_.session, machine, "key of " + machine, script_.join_token, script_.shape},
                  InThisLife([this](const Result<Joined>& joined) {
                    if (!joined) {
                      TryAgainLater([this] { Join(); });
                      return;
                    }
                    failures_ = 0;
                    pass_.token = joined->token;
                    SyncNow();
                    Beat();
                  }));
}

// A session lives by its syncs. The random part keeps agents that began together from staying so.
void PlayedAgent::Beat() {
  const Duration period = script_.heartbeat;
  const auto part = deps_.random.Below(static_cast<std::uint64_t>(period.count()) / 4 + 1);
  After(period - Duration(static_cast<std::int64_t>(part)), [this] {
    if (!syncing_) SyncNow();
    Beat();
  });
}

// Doubling, with a random part, so that a thousand agents do not come back in the same moment.
void PlayedAgent::TryAgainLater(std::function<void()> call) {
  ++deps_.totals.errors;
  const Duration limit = std::min(kFirstRetry * (1 << std::min(failures_++, 10)), kLongestRetry);
  const auto part = deps_.random.Below(static_cast<std::uint64_t>(limit.count()) / 2 + 1);
  After(limit / 2 + Duration(static_cast<std::int64_t>(part)), std::move(call));
}

bool PlayedAgent::Busy() const {
  return std::any_of(held_.begin(), held_.end(),
                     [](const auto& entry) { return !entry.second.finished(); });
}

// One sync at a time; a second wish comes true when the first is answered.
void PlayedAgent::SyncNow() {
  if (gone_) return;
  if (syncing_) {
    sync_again_ = true;
    return;
  }
  const TimePoint now = deps_.loop.Now();
  syncing_ = true;
  if (now < silent_until_) {
    After(silent_until_ - now, [this] {
      syncing_ = false;
      SyncNow();
    });
    return;
  }
  SyncRequest request = MakeSync();
  sent_ = request.settlements.size();
  leave_is_sent_ = request.leaving;
  Misbehave(request);
  ++deps_.totals.syncs;
  deps_.link.Sync(std::move(request),
                  InThisLife([this](Result<SyncResult> result) { Answered(std::move(result)); }));
}

SyncRequest PlayedAgent::MakeSync() {
  SyncRequest request;
  request.session = pass_.session;
  request.token = pass_.token;
  if (!Busy()) request.free = script_.shape;
  for (const auto& [id, held] : held_) request.known.push_back(id);
  request.settlements = outbox_;
  request.measured = measured_;
  request.leaving = leaving_ || leaves_;
  return request;
}

void PlayedAgent::Misbehave(SyncRequest& request) {
  if (!said_.empty() && deps_.random.Chance(script_.repeats)) {
    ++deps_.totals.repeats;
    request.settlements.push_back(said_[deps_.random.Below(said_.size())]);
  }
  if (deps_.random.Chance(script_.lies)) {
    ++deps_.totals.lies;
    request.settlements.push_back(Lie());
  }
}

// None of these may change anything: a lease of another agent, a seq that was used for other items,
// offsets that the chunk does not have, a lease that never was.
Settlement PlayedAgent::Lie() {
  Settlement lie;
  lie.ok = Bits::Range(limits::kItemsPerChunk, 0, 1 + static_cast<int>(deps_.random.Below(40)));
  lie.seq = static_cast<std::int32_t>(deps_.random.Below(3));
  lie.body = "not a block";
  const std::uint64_t kind = deps_.random.Below(4);
  if (kind == 0 && !deps_.gossip.leases.empty()) {
    do {
      lie.lease = deps_.gossip.leases[deps_.random.Below(deps_.gossip.leases.size())];
    } while (held_.contains(lie.lease) && deps_.gossip.leases.size() > held_.size() + 8);
    if (held_.contains(lie.lease)) lie.ok = Bits(limits::kItemsPerChunk);
  } else if (kind == 1 && !held_.empty()) {
    lie.lease = held_.begin()->first;
    lie.seq = -5;
  } else if (kind == 2 && !said_.empty() && (said_.back().ok | said_.back().failed).Any()) {
    lie.lease = said_.back().lease;
    lie.seq = said_.back().seq;
  } else {
    lie.lease = deps_.random.NewId<LeaseId>();
  }
  return lie;
}

void PlayedAgent::Answered(Result<SyncResult> result) {
  syncing_ = false;
  if (!result) {
    if (result.error().code == Code::kLost || result.error().code == Code::kNobody) {
      ++deps_.totals.sessions_lost;
      BeginLife(Duration::zero());
      return;
    }
    // It may have been done: the same is said again.
    syncing_ = true;
    TryAgainLater([this] {
      syncing_ = false;
      SyncNow();
    });
    return;
  }
  failures_ = 0;
  if (!result->token.empty()) pass_.token = result->token;
  deps_.totals.refused += static_cast<std::int64_t>(result->refused.size());
  if (leave_is_sent_) {
    BeginLife(script_.heartbeat);
    return;
  }
  // What was sent is settled, or belongs to a lease that is gone; new ones may have come meanwhile.
  for (std::size_t i = 0; i < sent_; ++i) {
    const auto held = held_.find(outbox_[i].lease);
    if (held != held_.end() && held->second.finished()) held_.erase(held);
    said_.push_back(std::move(outbox_[i]));
    if (said_.size() > kSaidKept) said_.erase(said_.begin());
  }
  outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<std::ptrdiff_t>(sent_));
  if (sent_ > 0) {
    measured_.clear();
    deps_.totals.last_settled = deps_.loop.Now();
  }
  sent_ = 0;
  for (const LeaseId& gone : result->gone) {
    held_.erase(gone);
    std::erase_if(outbox_, [&gone](const Settlement& said) { return said.lease == gone; });
  }
  const std::uint64_t life = life_;
  for (const Grant& grant : result->grants) {
    Take(grant);
    if (life != life_) return;
  }
  if (std::exchange(sync_again_, false) || !outbox_.empty()) {
    SyncNow();
  } else if (held_.empty() && !waiting_) {
    Wait();
  }
}

void PlayedAgent::Take(const Grant& grant) {
  const LeaseId id = grant.lease.id;
  if (!held_.emplace(id, Held{grant, grant.lease.mine}).second) return;
  if (deps_.totals.leases++ == 0) deps_.totals.first_lease = deps_.loop.Now();
  deps_.gossip.Hear(id, deps_.random);
  if (deps_.random.Chance(script_.vanishes)) {
    ++deps_.totals.vanished;
    BeginLife(script_.session_life / 4);
    return;
  }
  if (deps_.random.Chance(script_.comes_late)) {
    ++deps_.totals.late;
    silent_until_ = deps_.loop.Now() + script_.session_life + script_.session_life / 2;
  }
  if (deps_.random.Chance(script_.leaves)) {
    leaves_ = true;
    sync_again_ = true;
    return;
  }
  if (!script_.fetches_items || !fetched_.insert(grant.lease.chunk).second) {
    RunLease(id);
    return;
  }
  ++deps_.totals.fetches;
  deps_.link.FetchItems(pass_, grant.lease.chunk,
                        InThisLife([this, id, key = grant.lease.chunk](Result<std::string> items) {
                          // Played items need no text; a real agent would try again here.
                          if (!items) fetched_.erase(key);
                          RunLease(id);
                        }));
}

void PlayedAgent::RunLease(LeaseId id) {
  if (script_.lease_time == Duration::zero()) {
    FinishLease(id);
  } else {
    After(script_.lease_time, [this, id] { FinishLease(id); });
  }
}

void PlayedAgent::FinishLease(LeaseId id) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  Held& held = found->second;
  const int count = held.left.Count();
  if (held.next_seq == 0 && count > 1 && deps_.random.Chance(script_.splits)) {
    outbox_.push_back(Settle(held, held.left.First(count / 2)));
    After(script_.lease_time, [this, id] { FinishLease(id); });
  } else {
    outbox_.push_back(Settle(held, held.left));
  }
  SyncNow();
}

Settlement PlayedAgent::Settle(Held& held, Bits items) {
  const Grant& grant = held.grant;
  Settlement settlement;
  settlement.lease = grant.lease.id;
  settlement.seq = held.next_seq++;
  held.left -= items;
  std::map<std::int64_t, std::int32_t> attempts;
  for (const ItemTry& item_try : grant.tries) attempts[item_try.item] = item_try.attempts;
  std::vector<Outcome> outcomes;
  const int length = items.length();
  const int keep = deps_.random.Chance(script_.gives_back)
                       ? static_cast<int>(deps_.random.Below(static_cast<std::uint64_t>(length)))
                       : length;
  for (const int offset : items.Indexes()) {
    if (offset >= keep) {
      settlement.back.Set(offset);
      continue;
    }
    Outcome& outcome = outcomes.emplace_back();
    outcome.item = grant.first_item + offset;
    outcome.attempt = attempts[outcome.item] + 1;
    outcome.duration_ms = script_.item_ms;
    outcome.cpu_ms = script_.item_ms;
    outcome.memory_bytes = 64 << 20;
    outcome.machine = machine_;
    if (ItemFails(script_, outcome.item)) {
      outcome.cause = Cause::kFailed;
      outcome.exit = 1;
      settlement.failed.Set(offset);
    } else {
      settlement.ok.Set(offset);
    }
  }
  settlement.body = EncodeBlock(outcomes);
  const auto run = static_cast<std::int64_t>(outcomes.size());
  deps_.totals.items_run += run;
  if (run > 0) measured_.push_back({grant.lease.chunk.job, run, run * script_.item_ms});
  return settlement;
}

// Until there is something to do, or the time of a long poll is over.
void PlayedAgent::Wait() {
  waiting_ = true;
  ++deps_.totals.waits;
  deps_.link.Wait(pass_, InThisLife([this](Result<bool> sync_now) {
                    waiting_ = false;
                    if (!sync_now) {
                      TryAgainLater([this] { SyncNow(); });
                    } else if (*sync_now) {
                      SyncNow();
                    } else if (!syncing_) {
                      Wait();
                    }
                  }));
}

}  // namespace tidemill
