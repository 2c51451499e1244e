// SPDX-License-Identifier: Apache-2.0
// The agent's leases and their items: from a grant to an outcome.
#include <algorithm>
#include <set>
#include <utility>

#include "agent/agent.h"
#include "agent/run_tag.h"
#include "base/limits.h"
#include "model/retry.h"
#include "report/signature.h"

namespace tidemill {
namespace {

LogPlace PlaceOf(const Attempt& attempt) {
  return {attempt.chunk.job, attempt.item, attempt.round, attempt.number};
}

}  // namespace

// What is held of the job goes back, and for a while it is not tried here.
void Agent::Rest(JobId job, RestingJob resting) {
  // A job that was paused for it and comes again was resumed by somebody: it is tried again soon.
  const AgentLimits& limits = options_.limits;
  resting.until = deps_.loop.Now() + (resting.for_good ? limits.ask_rest : limits.trouble_rest);
  if (resting.for_good) troubles_.push_back({job, resting.reason});
  resting_[job] = std::move(resting);
  failing_.erase(job);
  DropStaged([job](const Attempt& attempt) { return attempt.chunk.job == job; });
  work_.GiveBack(job);
}

void Agent::Take(const Grant& grant) {
  const LeaseId id = grant.lease.id;
  const ChunkKey chunk = grant.lease.chunk;
  if (!work_.Add(grant)) return;
  if (health_.rests(deps_.loop.Now())) return work_.GiveBack(id);
  if (const auto resting = resting_.find(chunk.job); resting != resting_.end()) {
    // The servers do not know yet, or other machines have more luck: ask for other work, but not at
    // once, or this lease would go to and fro.
    AskNothingFor(options_.limits.ask_rest);
    // Once they have heard it, a job that comes again was resumed: it is not paused anew for what
    // somebody may have mended.
    const RestingJob& rest = resting->second;
    if (rest.for_good && !rest.told) troubles_.push_back({chunk.job, rest.reason});
    return work_.GiveBack(chunk.job);
  }
  catalog_.Get(chunk, grant.lease.mine.length(),
               InThisSession([this, id, need = Need{chunk.job, grant.lease.memory_bytes}](
                                 const Result<void>& got) {
                 if (!work_.Holds(id)) return;
                 if (got) deps_.logs.StoreAt(need.job, catalog_.JobOf(need.job).logs);
                 if (got) UseRole(need.job);
                 if (!got) {
                   Rest(need.job, {.reason = got.error().reason, .for_good = true});
                 } else if (HasData(need.job) && deps_.data == nullptr) {
                   Rest(need.job, {.reason = "this agent moves no data"});
                 } else if (SlotsIn(devices_.whole(), *LimitsOf(need)) > 0) {
                   Prepare(id, need.job);
                 } else {
                   // It would wait here for ever.
                   AskNothingFor(options_.limits.ask_rest);
                   work_.GiveBack(id);
                 }
                 Fill();
                 Consider();
               }));
}

// After this long without a word from the servers the leases may be others' already.
bool Agent::MayStart() const {
  return joined_ && !closing_ && !leaving_ && deps_.loop.Now() - heard_at_ < life_ * 9 / 10;
}

std::optional<Resources> Agent::LimitsOf(const Need& need) const {
  const Resources* each = catalog_.EachOf(need.job);
  if (each == nullptr) return std::nullopt;
  return tidemill::LimitsOf(*each, need.memory_bytes, devices_.shape());
}

Need Agent::Resolve(const Need& need) const { return {need.job, LimitsOf(need)->memory_bytes}; }

int Agent::DepthOf(const Need& need) const {
  const auto pace = paces_.find(need.job);
  DepthQuery query;
  query.mode = catalog_.JobOf(need.job).run.mode;
  query.slots = slots_.SlotsOf(Resolve(need));
  query.unfinished = work_.loads().at(need).unfinished();
  if (query.mode == Mode::kLoop) {
    // The first container must not take what the others, which open after it, could have run.
    std::int64_t most = SlotsIn(devices_.whole(), *LimitsOf(need));
    if (const auto limit = slots_.LimitOf(need.job)) most = std::min(most, *limit);
    query.slots = std::max(query.slots, static_cast<int>(most));
  }
  return tidemill::DepthOf(pace == paces_.end() ? Pace() : pace->second, query, options_.limits);
}

Slots::Wish Agent::WishFor(const Need& need) const {
  const Catalog::Entry& entry = catalog_.JobOf(need.job);
  Slots::Wish wish{.spec = entry.container,
                   .once = entry.run.mode == Mode::kContainer,
                   .timeout = entry.run.timeout,
                   .grace = entry.run.grace,
                   .secrets = entry.secrets};
  if (entry.secrets != nullptr) wish.spec.login = entry.secrets->login();
  if (entry.code != nullptr) wish.keeps.push_back(entry.code);
  if (entry.program) wish.program = catalog_.MakeProgram(need.job);
  if (HasData(need.job)) {
    const DataFolders folders = deps_.data->FoldersOf(need.job);
    wish.spec.mounts.push_back({folders.in, std::string(kInInside), true});
    wish.spec.mounts.push_back({folders.out, std::string(kOutInside), false});
    if (entry.run.checkpoint_every.count() > 0) {
      wish.spec.mounts.push_back({folders.checkpoints, std::string(kCheckpointsInside), false});
    }
  }
  AddCache(need.job, wish);
  // Without them it has no container but one that is adopted, which has its own.
  for (Mount& mount : VolumesOf(need.job).value_or(std::vector<Mount>())) {
    wish.spec.mounts.push_back(std::move(mount));
  }
  return wish;
}

// Once the servers have said which leases are still ours, and what is needed to go on with them is
// here: the log of a run must not be taken before its secrets are known.
void Agent::AdoptFound() {
  Slots::Adoption adoption;
  adoption.decide = [this](JobId job) {
    const bool is_ours = std::any_of(work_.loads().begin(), work_.loads().end(),
                                     [job](const auto& load) { return load.first.job == job; });
    if (!is_ours) return Slots::Found::kEnd;
    const std::vector<ChunkKey> chunks = work_.Chunks();
    const bool is_here = std::all_of(chunks.begin(), chunks.end(), [&](const ChunkKey& chunk) {
      return chunk.job != job || catalog_.Has(chunk);
    });
    return is_here ? Slots::Found::kAdopt : Slots::Found::kWait;
  };
  adoption.resume = [this](const std::string& tag) -> std::optional<Attempt> {
    const std::optional<RunTag> run = ParseRunTag(tag);
    std::optional<Attempt> attempt = run ? work_.Resume(run->key) : std::nullopt;
    if (!attempt) return attempt;
    attempt->data = run->data;
    deps_.logs.Resume(PlaceOf(*attempt));
    BeginLog(*attempt);
    Watch(*attempt);
    return attempt;
  };
  adoption.make = [this](const Need& need) {
    Slots::Wish wish = WishFor(need);
    wish.keeps.push_back(earlier_cache_);
    return wish;
  };
  slots_.Adopt(adoption);
  if (!kept_data_ && slots_.started() && !slots_.has_left()) {
    kept_data_ = true;
    earlier_cache_.reset();
    KeepData();
  }
}

void Agent::Fill() {
  if (closing_ || leaving_) return Ebb();
  if (!MayStart()) return;
  if (heard_in_session_) AdoptFound();
  std::vector<Need> needs;
  for (const auto& [need, load] : work_.loads()) {
    if (load.ready > 0 || staged_.CountOf(need) > 0) needs.push_back(need);
  }
  for (const Need& need : needs) FillNeed(need);
}

void Agent::FillNeed(const Need& need) {
  const auto ready = [this, &need] {
    const auto found = work_.loads().find(need);
    return found == work_.loads().end() ? 0 : found->second.ready;
  };
  const Need resolved = Resolve(need);
  const bool has_data = HasData(need.job);
  if (has_data) {
    Stage(need);
    RunStaged(need, resolved);
  }
  while (!has_data && ready() > 0) {
    const int depth = DepthOf(need);
    if (!slots_.HasPlace(resolved, depth, work_.loads().at(need).alone > 0)) break;
    const std::optional<Attempt> attempt = work_.Pick(need);
    if (!attempt) break;
    Begin(*attempt, resolved, depth);
  }
  if (ready() == 0 && staged_.CountOf(need) == 0) return;
  const auto is_needed = [this](const Need& other) {
    return std::any_of(work_.loads().begin(), work_.loads().end(), [&](const auto& entry) {
      return entry.first.job == other.job &&
             (entry.second.ready > 0 || staged_.CountOf(entry.first) > 0) &&
             Resolve(entry.first) == other;
    });
  };
  slots_.Want(
      need.job, *LimitsOf(need), work_.loads().at(need).unfinished(),
      [this, &need] { return WishFor(need); }, is_needed);
}

// Those whose inputs are here. A copy of each: it is taken out of where it stands.
void Agent::RunStaged(const Need& need, const Need& resolved) {
  while (const Attempt* first = staged_.FirstReady(need)) {
    const Attempt attempt = *first;
    if (!work_.Runs(attempt.key)) {  // its lease is gone
      DropStaged([&](const Attempt& one) { return one.place() == attempt.place(); });
      continue;
    }
    const int depth = DepthOf(need);
    if (!slots_.HasPlace(resolved, depth, attempt.alone)) return;
    staged_.Take(attempt);
    Begin(attempt, resolved, depth);
  }
}

void Agent::Begin(const Attempt& attempt, const Need& need, int depth) {
  Result<ItemRun> run = catalog_.Make(attempt);
  if (run) {
    BeginLog(attempt);
    run->tag = FormatRunTag({attempt.key, attempt.data});
    AddCache(attempt.chunk.job, *run);
    Watch(attempt);
    slots_.Run(attempt, need, depth, *std::move(run));
  } else {
    FailUnrun(attempt, 126, run.error().reason);
  }
}

void Agent::FailUnrun(const Attempt& attempt, int exit, const std::string& why) {
  const std::string words = "tidemill: " + why + "\n";
  OnItemLog(attempt, words);
  Record(attempt, {.how = ItemEnd::How::kNotStarted, .exit = exit}, StopWhy::kNone, words);
}

void Agent::BeginLog(const Attempt& attempt) {
  logs_.Begin(attempt, catalog_.JobOf(attempt.chunk.job).secrets);
  tails_.Begin(PlaceOf(attempt));
}

// It runs no more. Gives its last words.
std::string Agent::EndLog(const Attempt& attempt) {
  logs_.End(attempt);
  return tails_.Take(PlaceOf(attempt));
}

// --- what the slots say ---

void Agent::OnItemLog(const Attempt& attempt, std::string_view bytes) {
  logs_.Append(attempt, bytes);
}

Outcome Agent::OutcomeOf(const Attempt& attempt, const ItemEnd& end, Cause cause,
                         const std::string& tail) const {
  Outcome outcome;
  outcome.item = attempt.item;
  outcome.attempt = attempt.number;
  outcome.cause = cause;
  outcome.exit = end.exit;
  outcome.start_ms = end.start_ms;
  outcome.duration_ms = end.duration.count() / 1000;
  outcome.cpu_ms = end.cpu.count() / 1000;
  outcome.memory_bytes = end.memory_bytes;
  outcome.machine = machine_;
  outcome.devices = attempt.devices;
  outcome.error = SignatureOf(
      {.cause = cause, .exit = end.exit, .tail = tail, .item = catalog_.TextOf(attempt)});
  outcome.result = Masked(attempt.chunk.job, end.result);
  // What hides a secret may be longer than it was.
  if (outcome.result.size() > kResultBytes) outcome.result.clear();
  return outcome;
}

// Ends an attempt that runs.
void Agent::Record(const Attempt& attempt, const ItemEnd& end, StopWhy why,
                   const std::string& tail) {
  const Verdict verdict = JudgeEnd(catalog_.JobOf(attempt.chunk.job).run, end, why);
  switch (verdict.next) {
    case Verdict::Next::kTell:
      if (verdict.cause == Cause::kSucceeded && HasOutputs(attempt)) {
        return StoreOutputs(attempt, end);
      }
      return Finish(attempt, end, verdict.cause, tail, verdict.final);
    case Verdict::Next::kBack:
      logs_.Close(attempt);
      return work_.Return(attempt.key);
    case Verdict::Next::kAgain:
      return work_.PutBack(attempt.key);
    case Verdict::Next::kAlone:
      return work_.PutBack(attempt.key, std::nullopt, true);
  }
}

// The outcome does not wait for the log, but says where it will be.
void Agent::Finish(const Attempt& attempt, const ItemEnd& end, Cause cause, const std::string& tail,
                   bool final) {
  Outcome outcome = OutcomeOf(attempt, end, cause, tail);
  outcome.log = logs_.Close(attempt);
  work_.Finish(attempt.key, std::move(outcome), final);
  if (cause == Cause::kSucceeded) DropSaves(attempt);
  if (cause == Cause::kOutOfMemory) OnRanOut(attempt);
  ForgetData(attempt);
}

// What waits with the same need has no more memory than those that ran out. The servers learn from
// them, and give it out again with more. Counted over all leases: while items end fast, and while
// the job is on trial, many small ones are held.
void Agent::OnRanOut(const Attempt& attempt) {
  const Need need{attempt.chunk.job, attempt.memory_bytes};
  if (LimitsOf(need)->memory_bytes >= catalog_.JobOf(need.job).memory_max) return;
  if (++ran_out_[need] < kEnoughRanOut) return;
  ran_out_.erase(need);
  work_.GiveBack(need);
}

void Agent::OnItemProgress(const Attempt& attempt, std::int32_t permille, std::string_view note) {
  if (!work_.Runs(attempt.key)) return;
  progress_.Note(attempt, deps_.loop.Now(), {0, permille, Masked(attempt.chunk.job, note)});
}

// What hides them in the logs is there before items can have them.
void Agent::UseRole(JobId job) {
  const auto& secrets = catalog_.JobOf(job).secrets;
  if (secrets == nullptr || !secrets->role()) return;
  logs_.Renew(job, secrets);
  slots_.UseRole(job, secrets);
}

// Without the secrets of the job.
std::string Agent::Masked(JobId job, std::string_view text) const {
  const auto& secrets = catalog_.JobOf(job).secrets;
  if (secrets == nullptr || text.empty()) return std::string(text);
  MaskedText masked(secrets->masker());
  std::string hidden = masked.Feed(text);
  return hidden += masked.Flush();
}

void Agent::OnItemEnd(const Attempt& attempt, const ItemEnd& end, StopWhy why) {
  progress_.Forget(attempt.key);
  if (work_.Runs(attempt.key)) {
    const std::string tail = EndLog(attempt);
    Measure(attempt, end, why);
    SaveAndRecord(attempt, end, why, tail);
  } else {  // its lease is gone
    EndLog(attempt);
    logs_.Close(attempt);
  }
  watched_.erase(attempt.place());
  if (!storing_.contains(attempt.key) && !ending_.contains(attempt.place())) ForgetData(attempt);
  OnRoom();
}

void Agent::OnItemsLost(const std::vector<Attempt>& attempts, Duration ran,
                        const std::string& reason) {
  for (const Attempt& attempt : attempts) {
    EndLog(attempt);
    progress_.Forget(attempt.key);
    watched_.erase(attempt.place());
    ForgetData(attempt);
    if (!work_.Runs(attempt.key)) continue;
    const bool is_loop = catalog_.JobOf(attempt.chunk.job).container.loop;
    if (is_loop && !attempt.alone) {
      // It may have been any of them. If it happens again, they go one by one.
      work_.PutBack(attempt.key, std::nullopt, ++strikes_[attempt.key] > 1);
    } else if (&attempt == &attempts.front()) {
      AddLost(attempt, ran);
      Strike(attempt, reason);
    } else {
      work_.PutBack(attempt.key);
    }
  }
}

// The container of an item that had begun, and only of that, is gone.
void Agent::Strike(const Attempt& attempt, const std::string& reason) {
  if (++strikes_[attempt.key] >= options_.limits.most_strikes) {
    return FailUnrun(attempt, 137, "its container ended under it again and again: " + reason);
  }
  OnItemLog(attempt, "tidemill: its container ended (" + reason + "); it begins anew\n");
  work_.PutBack(attempt.key, OutcomeOf(attempt, {.exit = 137}, Cause::kMachineFault, reason));
}

void Agent::OnOpenFailed(JobId job, const Error& error) {
  const TimePoint now = deps_.loop.Now();
  deps_.log.Warn("container.not_opened", {{"job", job.number}, {"reason", error.reason}});
  if (error.code == Code::kInvalid) {
    return Rest(job, {.reason = error.reason, .for_good = true});
  }
  if (IsMachineFault(error)) return OnMachineFault(error.reason);
  FailingJob& failing = failing_.try_emplace(job, FailingJob{now, {}}).first->second;
  failing.reason = error.reason;
  if (!failing.told && now - failing.since >= options_.limits.job_failing) {
    failing.told = true;
    status_at_ = TimePoint::min();  // whoever plans gives its part to others meanwhile
  }
  if (now - failing.since > options_.limits.engine_outage) Rest(job, {.reason = error.reason});
}

void Agent::OnOpened(JobId job) {
  failing_.erase(job);
  health_.OnWorks();
  OnRoom();
}

void Agent::OnRoom() {
  if (slots_.started() && !std::exchange(asked_engine_, true)) devices_.AskEngine();
  if (leaving_ && joined_ && !IsBusy()) SayGoodbye();
  Fill();
  Consider();
}

}  // namespace tidemill
