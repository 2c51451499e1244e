// SPDX-License-Identifier: Apache-2.0
// The data of items: inputs are fetched before their turn comes, outputs are stored while the next
// ones run. An attempt is the agent's all this time, as if it ran.
#include <algorithm>
#include <set>
#include <utility>

#include "agent/agent.h"
#include "base/id.h"

namespace tidemill {
namespace {

// However many a machine runs at a time: each is a file that is open, and a request.
constexpr int kStagedMost = 256;

bool MayPass(Code code) { return code == Code::kUnavailable || code == Code::kUnknown; }
bool IsRefused(Code code) { return code == Code::kForbidden || code == Code::kNobody; }

}  // namespace

bool Agent::HasData(JobId job) const {
  const Catalog::Entry& entry = catalog_.JobOf(job);
  return !entry.data->empty() || entry.run.checkpoint_every.count() > 0;
}

// One that runs and one that waits, for each place.
void Agent::Stage(const Need& need) {
  const auto places = static_cast<int>(
      std::min<std::int64_t>(SlotsIn(devices_.whole(), *LimitsOf(need)), kStagedMost / 2));
  const int most = std::max(2, 2 * places);
  while (staged_.CountOf(need) < most) {
    const bool is_first = staged_.CountOf(need) == 0;
    if (!is_first && deps_.data->held_bytes() >= options_.data_bytes) return;
    std::optional<Attempt> attempt = work_.Pick(need);
    if (!attempt) return;
    attempt->data = ++last_data_;
    const Result<DataWork> work = catalog_.DataOf(*attempt);
    if (!work) {
      FailUnrun(*attempt, 126, work.error().reason);
      continue;
    }
    staged_.Add(need, *attempt);
    if (catalog_.JobOf(need.job).data->skips_existing()) {
      LookForOutputs(*attempt, *work);
    } else {
      Fetch(*attempt, *work);
    }
  }
}

void Agent::LookForOutputs(const Attempt& attempt, const DataWork& work) {
  deps_.data->Exist(work, InThisSession([this, attempt, work](const Result<bool>& exist) {
                      if (!exist) return OnFetched(attempt, tl::unexpected(exist.error()));
                      if (!*exist) return Fetch(attempt, work);
                      if (!staged_.Take(attempt) || !work_.Runs(attempt.key)) return;
                      OnItemLog(attempt, "tidemill: it was not run: its output is there\n");
                      Finish(attempt, {}, Cause::kSucceeded, "");
                      OnRoom();
                    }));
}

void Agent::Fetch(const Attempt& attempt, const DataWork& work) {
  deps_.data->Fetch(
      attempt.place(), work,
      InThisSession([this, attempt](const Result<void>& fetched) { OnFetched(attempt, fetched); }));
}

void Agent::OnFetched(const Attempt& attempt, const Result<void>& fetched) {
  const bool is_ours = work_.Runs(attempt.key);
  if (is_ours && fetched && staged_.MarkReady(attempt)) {
    Fill();
    return Consider();
  }
  const bool was_staged = staged_.Take(attempt);
  deps_.data->Forget(attempt.place());
  if (is_ours && was_staged && !fetched) OnNotFetched(attempt, fetched.error());
  OnRoom();
}

void Agent::OnNotFetched(const Attempt& attempt, const Error& error) {
  const std::string why = "its input could not be fetched: " + error.reason;
  if (error.code == Code::kNotFound || error.code == Code::kInvalid) {
    return FailUnrun(attempt, 126, why);
  }
  // Not the item's fault: it has not begun.
  work_.Return(attempt.key);
  if (error.code == Code::kExhausted) return OnMachineFault(error.reason);
  Rest(attempt.chunk.job, {.reason = why, .for_good = IsRefused(error.code)});
}

// --- outputs ---

bool Agent::HasOutputs(const Attempt& attempt) const {
  return attempt.data != 0 && catalog_.JobOf(attempt.chunk.job).data->has_outputs();
}

void Agent::StoreOutputs(const Attempt& attempt, const ItemEnd& end) {
  storing_[attempt.key] = {attempt, end, deps_.loop.Now()};
  TryToStore(attempt.key);
}

void Agent::TryToStore(const ItemKey& key) {
  const auto found = storing_.find(key);
  if (found == storing_.end()) return;
  const Attempt& attempt = found->second.attempt;
  if (!work_.Runs(key)) {  // its lease is gone: another attempt will store them
    deps_.data->Forget(attempt.place());
    logs_.Close(attempt);
    storing_.erase(found);
    return OnRoom();
  }
  const Catalog::Entry& entry = catalog_.JobOf(attempt.chunk.job);
  OutputOwner owner;
  owner.job = entry.project + "/" + entry.unique_id;
  owner.item = attempt.item;
  owner.round = attempt.round;
  owner.attempt = std::to_string(attempt.round) + "." + std::to_string(attempt.number) + "." +
                  ToString(attempt.key.lease);
  // It was made before: it is there.
  deps_.data->Store(
      attempt.place(), catalog_.DataOf(attempt).value(), std::move(owner),
      InThisSession([this, key](const Result<void>& stored) { OnStored(key, stored); }));
}

void Agent::OnStored(const ItemKey& key, const Result<void>& stored) {
  const auto found = storing_.find(key);
  if (found == storing_.end()) return;
  StoringAttempt& storing = found->second;
  const Duration tried = deps_.loop.Now() - storing.since;
  if (!stored && MayPass(stored.error().code) && tried < options_.limits.store_outage) {
    const Duration wait =
        std::min(options_.limits.first_retry * (1 << std::min(storing.failures++, 10)),
                 options_.limits.longest_retry);
    deps_.loop.After(wait, InThisSession([this, key] { TryToStore(key); }));
    return;
  }
  const StoringAttempt over = storing;
  storing_.erase(found);
  if (!work_.Runs(key)) {
    deps_.data->Forget(over.attempt.place());
    logs_.Close(over.attempt);
  } else if (stored) {
    Finish(over.attempt, over.end, Cause::kSucceeded, "");
  } else {
    OnNotStored(over, stored.error());
  }
  OnRoom();
}

void Agent::OnNotStored(const StoringAttempt& storing, const Error& error) {
  const std::string words = "tidemill: " + error.reason + "\n";
  OnItemLog(storing.attempt, words);
  const bool is_items = error.code == Code::kInvalid || error.code == Code::kConflict;
  Finish(storing.attempt, storing.end, is_items ? Cause::kRejectedOutput : Cause::kMachineFault,
         words);
  if (is_items) return;
  Rest(storing.attempt.chunk.job, {.reason = "its output could not be stored: " + error.reason,
                                   .for_good = IsRefused(error.code)});
}

// --- what is not wanted any more ---

void Agent::DropStaged(const std::function<bool(const Attempt&)>& is_over) {
  for (const Attempt& attempt : staged_.TakeIf(is_over)) {
    deps_.data->Forget(attempt.place());
    if (work_.Runs(attempt.key)) work_.Return(attempt.key);
  }
}

void Agent::ForgetData(const Attempt& attempt) {
  if (attempt.data != 0 && deps_.data != nullptr) deps_.data->Forget(attempt.place());
}

// Once it is known what of an earlier life still runs, the rest of its data goes.
void Agent::KeepData() {
  if (deps_.data == nullptr) return;
  ItemData::Left left;
  left.below = first_data_ + 1;
  left.places = slots_.DataPlaces();
  for (const auto& [need, load] : work_.loads()) left.jobs.insert(need.job);
  deps_.data->KeepOnly(std::move(left));
}

void Agent::ForgetAllData() {
  DropStaged([](const Attempt&) { return true; });
  for (const auto& [key, storing] : std::exchange(storing_, {})) ForgetData(storing.attempt);
  for (const auto& [place, ending] : std::exchange(ending_, {})) ForgetData(ending.attempt);
  watched_.clear();
  if (deps_.data == nullptr) return;
  for (const DataPlace& place : slots_.DataPlaces()) deps_.data->Forget(place);
}

}  // namespace tidemill
