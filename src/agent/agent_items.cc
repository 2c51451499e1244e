// SPDX-License-Identifier: Apache-2.0
// The agent's leases and their items: from a grant to an outcome.
#include <algorithm>
#include <utility>

#include "agent/agent.h"
#include "base/limits.h"

namespace tidemill {
namespace {

constexpr Duration kTick = std::chrono::seconds(1);
// The newer an item, the more it counts; a single slow one changes little.
constexpr double kPaceWeight = 1.0 / 16;

}  // namespace

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
    // Once they have heard it, a job that comes again was resumed: it is not paused anew for what
    // somebody may have mended.
    const Resting& rest = resting->second;
    if (rest.for_good && !rest.told) troubles_.push_back({chunk.job, rest.reason});
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
    logs_.Begin(attempt, catalog_.JobOf(attempt.chunk.job).secrets);
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
  WatchNetwork();
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

void Agent::WatchNetwork() {
  if (!slots_.started()) return;
  std::string open = deps_.engine.open_network();
  if (open == open_network_) return;
  if (open.empty()) {
    deps_.log.Info("firewall.shut");
  } else {
    deps_.log.Warn("firewall.open", {{"reason", open}});
  }
  open_network_ = std::move(open);
  status_at_ = TimePoint::min();  // the servers hear it at once
}

// --- what the slots say ---

void Agent::OnItemLog(const Attempt& attempt, std::string_view bytes) {
  logs_.Append(attempt, bytes);
}

void Agent::Record(const Attempt& attempt, const ItemEnd& end) {
  logs_.Close(attempt);
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
    logs_.Close(attempt);
    return;
  }
  logs_.End(attempt);
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
    logs_.End(attempt);
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
