// SPDX-License-Identifier: Apache-2.0
// Checkpoints of items: saved every so often while they run, and once more when they have ended
// without success, before that is told: the next attempt may begin at once.
#include <algorithm>
#include <string>
#include <utility>

#include "agent/agent.h"

namespace tidemill {

void Agent::Watch(const Attempt& attempt) {
  const auto work = catalog_.CheckpointOf(attempt);
  if (!work) return;
  const Duration every = catalog_.JobOf(attempt.chunk.job).run.checkpoint_every;
  watched_[attempt.place()] = {attempt, *work, every, deps_.loop.Now() + every};
}

void Agent::SaveDue() {
  for (auto& [place, watched] : watched_) {
    if (watched.saving || deps_.loop.Now() < watched.due) continue;
    if (!work_.Runs(watched.attempt.key)) continue;  // its lease is gone
    watched.saving = true;
    deps_.data->Save(
        place, watched.work,
        InThisSession([this, at = place](const Result<void>& saved) { OnSaved(at, saved); }));
  }
}

// It may have ended meanwhile: then there is more to save.
void Agent::OnSaved(const DataPlace& place, const Result<void>& saved) {
  if (ending_.contains(place)) return BeginLastSave(place);
  const auto found = watched_.find(place);
  if (found == watched_.end()) return;
  WatchedAttempt& watched = found->second;
  watched.saving = false;
  const bool has_changed = !saved && saved.error().code == Code::kConflict;
  const Duration wait =
      has_changed ? std::min(watched.every, options_.limits.save_again) : watched.every;
  watched.due = deps_.loop.Now() + wait;
  const std::string complaint = saved ? "" : saved.error().reason;
  if (complaint.empty() || complaint == watched.complaint) return;
  watched.complaint = complaint;
  if (!work_.Runs(watched.attempt.key)) return;
  OnItemLog(watched.attempt, "tidemill: its checkpoint was not saved: " + complaint + "\n");
}

void Agent::SaveAndRecord(const Attempt& attempt, const ItemEnd& end, StopWhy why,
                          const std::string& tail) {
  const auto work = catalog_.CheckpointOf(attempt);
  const Verdict verdict = JudgeEnd(catalog_.JobOf(attempt.chunk.job).run, end, why);
  const bool has_ended = verdict.next == Verdict::Next::kTell &&
                         verdict.cause != Cause::kSucceeded && end.how != ItemEnd::How::kNotStarted;
  if (!work || !has_ended) return Record(attempt, end, why, tail);
  const DataPlace place = attempt.place();
  ending_[place] = {attempt, *work, end, why, tail};
  deps_.loop.After(options_.limits.last_save, InThisSession([this, place] {
                     EndLastSave(place, Fail(Code::kUnavailable, "it took too long"));
                   }));
  const auto watched = watched_.find(place);
  const bool is_saving = watched != watched_.end() && watched->second.saving;
  if (!is_saving) BeginLastSave(place);  // else when that is over
}

void Agent::BeginLastSave(const DataPlace& place) {
  deps_.data->Save(
      place, ending_.at(place).work,
      InThisSession([this, place](const Result<void>& saved) { EndLastSave(place, saved); }));
}

void Agent::EndLastSave(const DataPlace& place, const Result<void>& saved) {
  const auto found = ending_.find(place);
  if (found == ending_.end()) return;
  const EndingAttempt ending = std::move(found->second);
  ending_.erase(found);
  if (!saved && work_.Runs(ending.attempt.key)) {
    OnItemLog(ending.attempt,
              "tidemill: its last checkpoint was not saved: " + saved.error().reason + "\n");
  }
  EndWith(ending);
  OnRoom();
}

void Agent::EndWith(const EndingAttempt& ending) {
  if (work_.Runs(ending.attempt.key)) {
    Record(ending.attempt, ending.end, ending.why, ending.tail);
  } else {  // its lease is gone
    logs_.Close(ending.attempt);
  }
  ForgetData(ending.attempt);
}

void Agent::DropSaves(const Attempt& attempt) {
  const auto work = catalog_.CheckpointOf(attempt);
  if (work) deps_.data->DropSaves(attempt.place(), *work);
}

}  // namespace tidemill
