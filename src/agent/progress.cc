// SPDX-License-Identifier: Apache-2.0
#include "agent/progress.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace tidemill {

void ProgressBook::Note(const Attempt& attempt, TimePoint now, ItemProgress progress) {
  progress.item = attempt.item;
  progress.permille = std::clamp(progress.permille, 0, 1000);
  if (progress.note.size() > limits::kNoteBytes) progress.note.resize(limits::kNoteBytes);
  said_.insert_or_assign(attempt.key, Said{attempt.chunk.job, now, std::move(progress)});
}

std::map<JobId, std::vector<ItemProgress>> ProgressBook::Newest() const {
  std::vector<const Said*> all;
  all.reserve(said_.size());
  for (const auto& [key, said] : said_) all.push_back(&said);
  std::stable_sort(all.begin(), all.end(),
                   [](const Said* a, const Said* b) { return a->at > b->at; });
  std::map<JobId, std::vector<ItemProgress>> jobs;
  for (const Said* said : all) {
    std::vector<ItemProgress>& some = jobs[said->job];
    if (some.size() < limits::kProgressPerJob) some.push_back(said->progress);
  }
  return jobs;
}

}  // namespace tidemill
