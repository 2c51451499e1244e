// SPDX-License-Identifier: Apache-2.0
// The agent's session and its syncs.
#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

// As many as numbers of settlements allow: after that many starts no lease of the first is left.
constexpr std::int32_t kStarts = 1 << 15;
constexpr Duration kStatusEvery = seconds(5);
// Whoever looks at the log finds the reason near its end, and not thousands of times.
constexpr Duration kComplainEvery = seconds(60);

// No more of anything.
bool IsWithin(const Resources& some, const Resources& all) {
  if (some.millicpus > all.millicpus || some.memory_bytes > all.memory_bytes) return false;
  return std::all_of(some.devices.begin(), some.devices.end(), [&all](const auto& device) {
    const auto found = all.devices.find(device.first);
    return device.second.count <= (found == all.devices.end() ? 0 : found->second.count);
  });
}

}  // namespace

Agent::Agent(AgentDeps deps, AgentOptions options)
    : deps_(deps),
      options_(std::move(options)),
      devices_(deps_, options_, [this] { UseDevices(); }),
      machine_(options_.machine),
      work_(options_.run % kStarts * Work::kSeqs),
      catalog_(deps_, options_.limits, pass_),
      tails_(deps_.logs),
      logs_(tails_),
      pins_(deps_, pass_),
      slots_(deps_, options_, pins_, *this),
      streams_({deps_, options_, pass_, work_, catalog_, slots_},
               [this](JobId job, ItemRun& run) { AddCache(job, run); }),
      health_(options_.limits),
      first_data_(static_cast<std::uint64_t>(options_.run) << 32),
      last_data_(first_data_),
      earlier_cache_(deps_.cache == nullptr ? nullptr : deps_.cache->HoldEarlier()) {}

// --- the session ---

void Agent::Start() {
  served_at_ = deps_.loop.Now();
  slots_.Start();
  const bool has_one = options_.pass.session != SessionId{};
  BeginSession(has_one ? options_.pass : SessionPass{deps_.random.NewId<SessionId>(), {}});
  Tick();
}

void Agent::BeginSession(SessionPass pass) {
  ++session_count_;
  UsePass(std::move(pass));
  deps_.logs.UseSession(ToString(pass_.session), pass_.session != options_.pass.session);
  joined_ = syncing_ = waiting_ = heard_in_session_ = false;
  failures_ = refusals_;
  sent_ = 0;
  dry_.reset();
  news_since_ = TimePoint::max();
  status_at_ = TimePoint::min();
  told_.clear();
  troubles_.clear();
  strikes_.clear();
  ran_out_.clear();
  caches_.clear();
  if (refusals_ == 0) return Join();
  deps_.loop.After(Backoff(), InThisSession([this] { Join(); }));
}

void Agent::UsePass(SessionPass pass) {
  pass_ = std::move(pass);
  deps_.memory.Keep(pass_);
}

void Agent::Join() {
  if (!pass_.token.empty()) return SendJoin(pass_.token, {});
  if (!options_.proof) return SendJoin(options_.join_token(), {});
  options_.proof(InThisSession([this](Result<MachineProof> proof) {
    if (!proof) return OnJoined(While("its proof", proof.error()));
    SendJoin("", *std::move(proof));
  }));
}

void Agent::SendJoin(std::string token, std::optional<MachineProof> proof) {
  JoinRequest request{pass_.session, machine_, options_.machine_key, std::move(token),
                      devices_.shape()};
  if (proof) {
    request.proof = std::move(proof);
    request.pool = options_.pool;
    request.project = options_.project;
  }
  deps_.link.Join(std::move(request),
                  InThisSession([this](const Result<Joined>& answer) { OnJoined(answer); }));
}

void Agent::OnJoined(const Result<Joined>& answer) {
  if (answer) {
    if (!answer->machine.empty()) machine_ = answer->machine;
    deps_.log.Info("agent.joined", {{"session", ToString(pass_.session)}, {"machine", machine_}});
    failures_ = 0;
    served_at_ = deps_.loop.Now();
    complained_at_.reset();
    UsePass({pass_.session, answer->token});
    slots_.UsePolicy(answer->policy);
    if (answer->log_bytes > 0) deps_.logs.LimitAttempts(answer->log_bytes);
    joined_ = true;
    heartbeat_ = beat_ = answer->heartbeat;
    life_ = answer->life;
    heard_at_ = deps_.loop.Now();
    not_before_ = TimePoint{};
    return SyncNow();
  }
  if (answer.error().code == Code::kLost) return LoseSession();
  if (answer.error().code == Code::kNobody && !pass_.token.empty()) return LoseSession();
  const TimePoint now = deps_.loop.Now();
  if (!complained_at_ || now - *complained_at_ >= kComplainEvery) {
    complained_at_ = now;
    deps_.log.Warn("agent.cannot_join", {{"reason", answer.error().reason}});
  }
  deps_.loop.After(Backoff(), InThisSession([this] { Join(); }));
}

// Whatever runs belongs to somebody else by now: its outcome would not be believed.
void Agent::LoseSession() {
  deps_.log.Warn("agent.session_lost", {{"session", ToString(pass_.session)}});
  ForgetAllData();
  work_.Clear();
  slots_.CloseAll();
  logs_.Clear();
  tails_.Clear();
  progress_.Clear();
  if (leaving_ || closing_) return Left();
  BeginSession({deps_.random.NewId<SessionId>(), {}});
}

// --- syncs ---

// Doubling, with a random part, so that a thousand agents do not come back in the same moment.
Duration Agent::Backoff() {
  const Duration most = std::min(options_.limits.first_retry * (1 << std::min(failures_++, 10)),
                                 options_.limits.longest_retry);
  const auto part = deps_.random.Below(static_cast<std::uint64_t>(most.count()) / 2 + 1);
  return most / 2 + Duration(static_cast<std::int64_t>(part));
}

TimePoint Agent::NextSync() const {
  TimePoint due = sent_at_ + beat_;
  if (work_.has_news()) due = std::min(due, news_since_ + options_.limits.tell_every);
  const Resources free = Free();
  const bool has_room = free.millicpus > 0;
  const bool is_dry = dry_ && IsWithin(free, *dry_);
  const bool is_unknown = slots_.started() && status_at_ == TimePoint::min();
  if (work_.has_whole_lease() || goodbye_ || !troubles_.empty() || (has_room && !is_dry) ||
      is_unknown) {
    due = TimePoint::min();
  }
  return std::max(due, not_before_);
}

void Agent::Consider() {
  if (!joined_ || syncing_) return;
  if (work_.has_news() && news_since_ == TimePoint::max()) news_since_ = deps_.loop.Now();
  const TimePoint now = deps_.loop.Now();
  const TimePoint next = NextSync();
  if (next <= now) return SyncNow();
  if (next >= sync_armed_) return;  // the timer looks again when it fires
  deps_.loop.Cancel(sync_timer_);
  sync_armed_ = next;
  sync_timer_ = deps_.loop.After(next - now, [this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    sync_armed_ = TimePoint::max();
    Consider();
  });
}

SyncRequest Agent::MakeSync() {
  SyncRequest request;
  request.session = pass_.session;
  request.token = pass_.token;
  request.free = leaving_ ? Resources{0, 0} : Free();
  request.holds = Holds();
  for (const auto& [job, resting] : resting_) request.resting.push_back(job);
  for (const auto& [job, failing] : failing_) request.resting.push_back(job);
  request.known = work_.Known();
  const auto& unsaid = work_.Unsaid();
  request.settlements.assign(unsaid.begin(), unsaid.end());
  request.leaving = goodbye_;
  request.troubles.assign(troubles_.begin(),
                          troubles_.begin() + std::min<std::ptrdiff_t>(std::ssize(troubles_),
                                                                       limits::kTroublesPerSync));
  request.measured = TakeMeasured();
  const TimePoint now = deps_.loop.Now();
  if (slots_.started() && (status_at_ == TimePoint::min() || now - status_at_ >= kStatusEvery)) {
    status_at_ = now;
    MachineStatus& status = request.status.emplace();
    status.engine = DescribeMachine();
    status.enforces = slots_.engine().enforces;
    status.jobs = JobUses();
    status.type = options_.place.type;
    status.zone = options_.place.zone;
    status.spot = options_.place.spot;
  }
  return request;
}

// One sync at a time; what happens meanwhile goes with the next.
void Agent::SyncNow() {
  SyncRequest request = MakeSync();
  syncing_ = true;
  sent_at_ = deps_.loop.Now();
  sent_ = request.settlements.size();
  troubles_sent_ = request.troubles.size();
  leave_sent_ = request.leaving;
  asked_ = request.free;
  news_since_ = TimePoint::max();
  const auto part = deps_.random.Below(static_cast<std::uint64_t>(heartbeat_.count()) / 4 + 1);
  beat_ = heartbeat_ - Duration(static_cast<std::int64_t>(part));
  deps_.link.Sync(std::move(request), InThisSession([this](Result<SyncResult> result) {
                    OnSynced(std::move(result));
                  }));
}

void Agent::SyncFailed(const Error& error) {
  if (error.code == Code::kLost || error.code == Code::kNobody) return LoseSession();
  if (error.code == Code::kInvalid) {
    // The same would be refused again, for ever.
    deps_.log.Error("agent.sync_refused", {{"reason", error.reason}});
    ++refusals_;
    return LoseSession();
  }
  // It may have been done: the same is said again, and more if there is more by then.
  if (failures_ == 0) deps_.log.Warn("agent.sync_failed", {{"reason", error.reason}});
  UntakeMeasured();
  status_at_ = TimePoint::min();
  not_before_ = deps_.loop.Now() + Backoff();
  sent_at_ = TimePoint{};  // a sync is due as soon as it may be
  Consider();
}

void Agent::OnSynced(Result<SyncResult> result) {
  syncing_ = false;
  if (!result) return SyncFailed(result.error());
  failures_ = refusals_ = 0;
  heard_at_ = sent_at_;
  served_at_ = deps_.loop.Now();
  not_before_ = deps_.loop.Now() + options_.limits.sync_gap;
  told_.clear();
  const auto heard = troubles_.begin() + static_cast<std::ptrdiff_t>(troubles_sent_);
  for (auto trouble = troubles_.begin(); trouble != heard; ++trouble) {
    if (const auto rest = resting_.find(trouble->job); rest != resting_.end()) {
      rest->second.told = true;
    }
  }
  troubles_.erase(troubles_.begin(), heard);
  work_.Heard(sent_);
  if (leave_sent_) return Left();
  if (!result->token.empty()) UsePass({pass_.session, result->token});
  for (const Refusal& refusal : result->refused) {
    deps_.log.Warn("agent.refused",
                   {{"lease", ToString(refusal.lease)}, {"reason", refusal.reason}});
    // What it still owes is given again, and then said under other numbers.
    work_.Drop(refusal.lease);
  }
  for (const LeaseId& gone : result->gone) work_.Drop(gone);
  if (!result->gone.empty() || !result->refused.empty()) {
    slots_.StopIf(StopWhy::kLeaseGone, [this](const ItemKey& key) { return !work_.Runs(key); });
  }
  dry_.reset();
  if (result->grants.empty() && asked_.millicpus > 0) dry_ = asked_;
  for (const Grant& grant : result->grants) Take(grant);
  Obey(result->back);
  slots_.SetLimits(std::move(result->limits));
  heard_in_session_ = true;
  deps_.logs.Follow(result->followed);
  // Also without room for more: somebody may want to read what it writes just now.
  if (!leaving_) WaitForWork();
  Fill();
  streams_.Take(result->streams);
  Consider();
}

// Until a server has something for the room that we have, or wants to hear us for another reason,
// or the time of a long poll is over.
void Agent::WaitForWork() {
  if (std::exchange(waiting_, true)) return;
  deps_.link.Wait(pass_, InThisSession([this](const Result<bool>& sync_now) {
                    waiting_ = false;
                    if (sync_now && *sync_now) {
                      dry_.reset();
                      sent_at_ = TimePoint{};  // a sync is due as soon as it may be
                    }
                    // A wait that broke off says nothing: the next heartbeat asks.
                    if (sync_now && !*sync_now && !leaving_) WaitForWork();
                    Consider();
                  }));
}

}  // namespace tidemill
