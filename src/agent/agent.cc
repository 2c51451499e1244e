// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

// As many as numbers of settlements allow: after that many starts no lease of the first is left.
constexpr std::int32_t kStarts = 1 << 15;
constexpr Duration kTick = seconds(1);
constexpr Duration kStatusEvery = seconds(5);
// The newer an item, the more it counts; a single slow one changes little.
constexpr double kPaceWeight = 1.0 / 16;

}  // namespace

Agent::Agent(AgentDeps deps, AgentOptions options)
    : deps_(deps),
      options_(std::move(options)),
      work_(options_.run % kStarts * Work::kSeqs),
      catalog_(deps_, options_.limits),
      slots_(deps_, options_, *this) {}

template <typename Call>
auto Agent::InThisSession(Call call) {
  return [this, count = session_count_, alive = std::weak_ptr<char>(alive_),
          call = std::move(call)](auto&&... values) mutable {
    if (alive.expired() || count != session_count_) return;
    call(std::forward<decltype(values)>(values)...);
  };
}

// --- the session ---

void Agent::Start() {
  slots_.Start();
  deps_.loop.After(kTick, [this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) Tick();
  });
  const bool has_one = options_.session != SessionId{};
  BeginSession(has_one ? options_.session : deps_.random.NewId<SessionId>());
}

void Agent::BeginSession(SessionId session) {
  ++session_count_;
  session_ = session;
  deps_.memory.Keep(session);
  joined_ = syncing_ = waiting_ = false;
  failures_ = 0;
  sent_ = 0;
  dry_.reset();
  news_since_ = TimePoint::max();
  status_at_ = TimePoint::min();
  told_.clear();
  troubles_.clear();
  strikes_.clear();
  Join();
}

void Agent::Join() {
  deps_.link.Join({session_, options_.machine, options_.pool, options_.shape},
                  InThisSession([this](const Result<Joined>& answer) { OnJoined(answer); }));
}

void Agent::OnJoined(const Result<Joined>& answer) {
  if (answer) {
    deps_.log.Info("agent.joined", {{"session", ToString(session_)}});
    failures_ = 0;
    joined_ = true;
    heartbeat_ = beat_ = answer->heartbeat;
    life_ = answer->life;
    heard_at_ = deps_.loop.Now();
    not_before_ = TimePoint{};
    return SyncNow();
  }
  if (answer.error().code == Code::kLost) return LoseSession();
  if (failures_ == 0) deps_.log.Warn("agent.cannot_join", {{"reason", answer.error().reason}});
  deps_.loop.After(Backoff(), InThisSession([this] { Join(); }));
}

// Whatever runs belongs to somebody else by now: its outcome would not be believed.
void Agent::LoseSession() {
  deps_.log.Warn("agent.session_lost", {{"session", ToString(session_)}});
  work_.Clear();
  slots_.CloseAll();
  if (leaving_) return left_();
  BeginSession(deps_.random.NewId<SessionId>());
}

void Agent::Leave(std::function<void()> done) {
  leaving_ = true;
  left_ = [this, done = std::move(done)] {
    deps_.memory.Keep({});
    ++session_count_;  // nothing that is under way counts any more
    joined_ = false;
    done();
  };
  slots_.CloseAll();
  if (!joined_) return left_();
  deps_.loop.After(options_.limits.leave_time, InThisSession([this] { left_(); }));
  Consider();
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
  const bool is_dry =
      dry_ && free.millicpus <= dry_->millicpus && free.memory_bytes <= dry_->memory_bytes;
  const bool is_unknown = slots_.started() && status_at_ == TimePoint::min();
  if (work_.has_whole_lease() || leaving_ || !troubles_.empty() || (has_room && !is_dry) ||
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
  request.session = session_;
  request.free = leaving_ ? Resources{0, 0} : Free();
  request.known = work_.Known();
  const auto& unsaid = work_.Unsaid();
  request.settlements.assign(unsaid.begin(), unsaid.end());
  request.leaving = leaving_;
  request.troubles.assign(troubles_.begin(),
                          troubles_.begin() + std::min<std::ptrdiff_t>(std::ssize(troubles_),
                                                                       limits::kTroublesPerSync));
  for (auto& [job, pace] : paces_) {
    if (pace.items == 0) continue;
    request.measured.push_back({job, pace.items, pace.run_us / 1000});
    told_[job] = {0, std::exchange(pace.items, 0), std::exchange(pace.run_us, 0)};
  }
  const TimePoint now = deps_.loop.Now();
  if (slots_.started() && (status_at_ == TimePoint::min() || now - status_at_ >= kStatusEvery)) {
    status_at_ = now;
    MachineStatus& status = request.status.emplace();
    status.engine = slots_.engine().name;
    status.enforces = slots_.engine().enforces;
    status.jobs = JobUses();
  }
  return request;
}

std::vector<JobUse> Agent::JobUses() {
  std::map<JobId, JobUse> uses;
  for (const auto& [job, load] : work_.loads()) uses[job].running = load.running;
  for (const auto& [job, used] : slots_.MeasureUse()) {
    uses[job].millicpus = used.millicpus;
    uses[job].memory_bytes = used.memory_bytes;
  }
  for (const auto& [job, failing] : failing_) uses[job].trouble = failing.reason;
  for (const auto& [job, resting] : resting_) uses[job].trouble = resting.reason;
  std::vector<JobUse> list;
  for (auto& [job, use] : uses) {
    use.job = job;
    list.push_back(std::move(use));
  }
  return list;
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
  if (error.code == Code::kLost) return LoseSession();
  if (error.code == Code::kInvalid) {
    // The same would be refused again, for ever.
    deps_.log.Error("agent.sync_refused", {{"reason", error.reason}});
    return LoseSession();
  }
  // It may have been done: the same is said again, and more if there is more by then.
  if (failures_ == 0) deps_.log.Warn("agent.sync_failed", {{"reason", error.reason}});
  for (const auto& [job, pace] : std::exchange(told_, {})) {
    paces_[job].items += pace.items;
    paces_[job].run_us += pace.run_us;
  }
  status_at_ = TimePoint::min();
  not_before_ = deps_.loop.Now() + Backoff();
  sent_at_ = TimePoint{};  // a sync is due as soon as it may be
  Consider();
}

void Agent::OnSynced(Result<SyncResult> result) {
  syncing_ = false;
  if (!result) return SyncFailed(result.error());
  failures_ = 0;
  heard_at_ = sent_at_;
  not_before_ = deps_.loop.Now() + options_.limits.sync_gap;
  told_.clear();
  troubles_.erase(troubles_.begin(),
                  troubles_.begin() + static_cast<std::ptrdiff_t>(troubles_sent_));
  work_.Heard(sent_);
  if (leave_sent_) return left_();
  for (const Refusal& refusal : result->refused) {
    deps_.log.Warn("agent.refused",
                   {{"lease", ToString(refusal.lease)}, {"reason", refusal.reason}});
    // What it still owes is given again, and then said under other numbers.
    work_.Drop(refusal.lease);
  }
  for (const LeaseId& gone : result->gone) work_.Drop(gone);
  if (!result->gone.empty() || !result->refused.empty()) {
    slots_.StopIf([this](const ItemKey& key) { return !work_.Runs(key); });
  }
  dry_.reset();
  if (result->grants.empty() && asked_.millicpus > 0) dry_ = asked_;
  for (const Grant& grant : result->grants) Take(grant);
  if (dry_) WaitForWork();
  Fill();
  Consider();
}

// Until a server has something for the room that we have, or the time of a long poll is over.
void Agent::WaitForWork() {
  if (std::exchange(waiting_, true)) return;
  deps_.link.Wait(session_, InThisSession([this](const Result<bool>& sync_now) {
                    waiting_ = false;
                    if (sync_now && *sync_now) dry_.reset();
                    // A wait that broke off says nothing: the next heartbeat asks.
                    if (sync_now && !*sync_now && dry_) WaitForWork();
                    Consider();
                  }));
}

// --- leases and their items ---

// What is held of the job goes back, and for a while it is not tried here.
void Agent::Rest(JobId job, Resting resting) {
  // A job that was paused for it and comes again was resumed by somebody: it is tried again soon.
  const AgentLimits& limits = options_.limits;
  resting.until = deps_.loop.Now() + (resting.for_good ? limits.ask_rest : limits.trouble_rest);
  if (resting.for_good) troubles_.push_back({job, resting.reason});
  resting_[job] = std::move(resting);
  failing_.erase(job);
  work_.GiveBack(job);
}

void Agent::Take(const Grant& grant) {
  const LeaseId id = grant.lease.id;
  const ChunkKey chunk = grant.lease.chunk;
  if (!work_.Add(grant)) return;
  if (const auto resting = resting_.find(chunk.job); resting != resting_.end()) {
    // The servers do not know yet, or other machines have more luck: ask for other work, but not at
    // once, or this lease would go to and fro.
    no_asks_before_ = deps_.loop.Now() + options_.limits.ask_rest;
    if (resting->second.for_good) troubles_.push_back({chunk.job, resting->second.reason});
    return work_.GiveBack(chunk.job);
  }
  catalog_.Get(chunk, grant.lease.mine.length(),
               InThisSession([this, id, job = chunk.job](const Result<void>& got) {
                 if (!work_.Holds(id)) return;
                 if (got) {
                   work_.MakeReady(id);
                 } else {
                   Rest(job, {.reason = got.error().reason, .for_good = true});
                 }
                 Fill();
                 Consider();
               }));
}

// After this long without a word from the servers the leases may be others' already.
bool Agent::MayStart() const {
  return joined_ && !leaving_ && deps_.loop.Now() - heard_at_ < life_ * 9 / 10;
}

int Agent::DepthOf(JobId job) const {
  const auto pace = paces_.find(job);
  if (pace == paces_.end() || pace->second.mean_us <= 0) return 1;
  const auto ahead = static_cast<double>(options_.limits.run_ahead.count()) / pace->second.mean_us;
  const int depth = 1 + std::min(static_cast<int>(ahead), options_.limits.most_ahead);
  // Toward the end all containers get their share.
  const int slots = std::max(1, slots_.SlotsOf(job));
  const int share = (work_.loads().at(job).unfinished() + slots - 1) / slots;
  return std::clamp(depth, 1, std::max(1, share));
}

void Agent::Fill() {
  if (!MayStart()) return;
  std::vector<JobId> jobs;
  for (const auto& [job, load] : work_.loads()) {
    if (load.ready > 0) jobs.push_back(job);
  }
  for (const JobId job : jobs) FillJob(job);
}

void Agent::FillJob(JobId job) {
  const auto ready = [this, job] {
    const auto found = work_.loads().find(job);
    return found == work_.loads().end() ? 0 : found->second.ready;
  };
  while (ready() > 0) {
    const int depth = DepthOf(job);
    if (!slots_.HasPlace(job, depth)) break;
    const std::optional<Attempt> attempt = work_.Pick(job);
    if (!attempt) break;
    Begin(*attempt, depth);
  }
  if (ready() == 0) return;
  slots_.Want(catalog_.JobOf(job).container, work_.loads().at(job).unfinished(),
              [this](JobId other) {
                const auto found = work_.loads().find(other);
                return found != work_.loads().end() && found->second.ready > 0;
              });
}

void Agent::Begin(const Attempt& attempt, int depth) {
  Result<ItemRun> run = catalog_.Make(attempt);
  if (run) {
    slots_.Run(attempt, depth, *std::move(run));
  } else {
    FailUnrun(attempt, 126, run.error().reason);
  }
}

void Agent::FailUnrun(const Attempt& attempt, int exit, const std::string& why) {
  OnItemLog(attempt, "tidemill: " + why + "\n");
  Record(attempt, {.how = ItemEnd::How::kNotStarted, .exit = exit});
}

// What is held counts as room when it will be done before a sync could bring more.
Resources Agent::Free() const {
  if (!slots_.started() || slots_.down_since()) return {0, 0};
  if (work_.leases() >= limits::kLeasesPerSession) return {0, 0};
  if (deps_.loop.Now() < no_asks_before_) return {0, 0};
  Resources free = options_.shape;
  for (const auto& [job, load] : work_.loads()) {
    const auto pace = paces_.find(job);
    const auto ahead = static_cast<double>(options_.limits.ask_ahead.count());
    const int slots = std::max(1, slots_.SlotsOf(job));
    if (pace != paces_.end() && pace->second.mean_us > 0 && pace->second.mean_us < ahead &&
        load.unfinished() * pace->second.mean_us / slots < ahead) {
      continue;
    }
    const Resources* each = catalog_.EachOf(job);
    if (each == nullptr) return {0, 0};  // just granted: how much it takes is not known yet
    const std::int64_t wanted =
        std::min<std::int64_t>(load.unfinished(), SlotsIn(options_.shape, *each));
    free.millicpus -= wanted * each->millicpus;
    free.memory_bytes -= wanted * each->memory_bytes;
  }
  return {std::max<std::int64_t>(free.millicpus, 0), std::max<std::int64_t>(free.memory_bytes, 0)};
}

void Agent::Tick() {
  deps_.loop.After(kTick, [this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) Tick();
  });
  slots_.CloseIdle();
  catalog_.KeepOnly(work_.Chunks());
  const TimePoint now = deps_.loop.Now();
  std::erase_if(resting_, [now](const auto& entry) { return entry.second.until <= now; });
  std::erase_if(failing_,
                [this](const auto& entry) { return !work_.loads().contains(entry.first); });
  std::erase_if(strikes_, [this](const auto& entry) { return !work_.Holds(entry.first.lease); });
  std::erase_if(paces_, [this](const auto& entry) {
    return entry.second.items == 0 && !work_.loads().contains(entry.first);
  });
  const auto down = slots_.down_since();
  if (down && now - *down > options_.limits.engine_outage) {
    std::vector<JobId> jobs;
    for (const auto& [job, load] : work_.loads()) jobs.push_back(job);
    for (const JobId job : jobs) work_.GiveBack(job);
  }
  Fill();
  Consider();
}

// --- what the slots say ---

void Agent::OnItemLog(const Attempt& attempt, std::string_view bytes) {
  deps_.logs.Append({attempt.chunk.job, attempt.item, attempt.round, attempt.number}, bytes);
}

void Agent::Record(const Attempt& attempt, const ItemEnd& end) {
  deps_.logs.Close({attempt.chunk.job, attempt.item, attempt.round, attempt.number});
  Outcome outcome;
  outcome.item = attempt.item;
  outcome.attempt = attempt.number;
  outcome.exit = end.exit;
  outcome.start_ms = end.start_ms;
  outcome.duration_ms = end.duration.count() / 1000;
  outcome.cpu_ms = end.cpu.count() / 1000;
  outcome.memory_bytes = end.memory_bytes;
  outcome.machine = options_.machine;
  if (end.how == ItemEnd::How::kTimedOut) {
    outcome.cause = Cause::kTimeout;
  } else if (end.how != ItemEnd::How::kExited || end.exit != 0) {
    outcome.cause = Cause::kFailed;
  }
  work_.Finish(attempt.key, std::move(outcome));
}

void Agent::OnItemEnd(const Attempt& attempt, const ItemEnd& end) {
  if (!work_.Runs(attempt.key)) {  // its lease is gone
    deps_.logs.Close({attempt.chunk.job, attempt.item, attempt.round, attempt.number});
    return;
  }
  if (end.how == ItemEnd::How::kStopped) {
    work_.PutBack(attempt.key);
  } else {
    const auto us = static_cast<double>(end.duration.count());
    Pace& pace = paces_[attempt.chunk.job];
    pace.mean_us = pace.mean_us == 0 ? us : pace.mean_us + (us - pace.mean_us) * kPaceWeight;
    ++pace.items;
    pace.run_us += end.duration.count();
    Record(attempt, end);
  }
  Fill();
  Consider();
}

void Agent::OnItemsLost(const std::vector<Attempt>& attempts, const std::string& reason) {
  for (const Attempt& attempt : attempts) {
    if (!work_.Runs(attempt.key)) continue;
    const bool had_begun = &attempt == &attempts.front();
    if (had_begun && ++strikes_[attempt.key] >= options_.limits.most_strikes) {
      FailUnrun(attempt, 137, "its container ended under it again and again: " + reason);
      continue;
    }
    if (had_begun) {
      OnItemLog(attempt, "tidemill: its container ended (" + reason + "); it begins anew\n");
    }
    work_.PutBack(attempt.key);
  }
}

void Agent::OnOpenFailed(JobId job, const Error& error) {
  const TimePoint now = deps_.loop.Now();
  deps_.log.Warn("container.not_opened", {{"job", job.number}, {"reason", error.reason}});
  if (error.code == Code::kInvalid) {
    return Rest(job, {.reason = error.reason, .for_good = true});
  }
  Failing& failing = failing_.try_emplace(job, Failing{now, {}}).first->second;
  failing.reason = error.reason;
  if (now - failing.since > options_.limits.engine_outage) Rest(job, {.reason = error.reason});
}

void Agent::OnOpened(JobId job) {
  failing_.erase(job);
  OnRoom();
}

void Agent::OnRoom() {
  Fill();
  Consider();
}

}  // namespace tidemill
