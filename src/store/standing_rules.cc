// SPDX-License-Identifier: Apache-2.0
#include "store/standing_rules.h"

#include <algorithm>
#include <limits>

#include "base/digest.h"
#include "base/limits.h"

namespace tidemill {

std::string MarkOf(std::string_view text) { return Sha256(text).substr(0, kMarkBytes); }

NewOnes ChooseNew(const NewItems& items, const std::set<std::string>& known) {
  NewOnes ones;
  std::set<std::string_view> said;
  for (std::size_t i = 0; i < items.once.size(); ++i) {
    const std::string& mark = items.once[i];
    if (!mark.empty()) {
      if (known.contains(mark) || !said.insert(mark).second) {
        ++ones.known;
        continue;
      }
      ones.marks.emplace_back(mark);
    }
    ones.places.push_back(i);
  }
  return ones;
}

Result<std::vector<NewChunkItems>> CutNew(const NewItems& items, const NewOnes& ones) {
  if (items.once.empty()) return items.chunks;
  if (ones.places.empty()) return std::vector<NewChunkItems>();
  return items.cut(ones.places);
}

Result<void> MayAddItems(const Job& job, std::int64_t more, std::int64_t packed) {
  const std::string name = PublicId(job);
  if (job.state == JobState::kDraft) {
    return Fail(Code::kConflict, name + " is a draft: seal it first, then add items to it");
  }
  if (job.state != JobState::kActive && job.state != JobState::kPaused) {
    return Fail(Code::kConflict, name + " takes no more items: it is " +
                                     std::string(JobStateName(job.state)) +
                                     "; submit another open job");
  }
  if (!job.open) {
    return Fail(Code::kConflict, name +
                                     " takes no more items: it is not open, or was closed; submit "
                                     "another open job");
  }
  if (job.items - packed + more > limits::kItemsPerJob) {
    return Fail(Code::kExhausted, name + " has " + std::to_string(job.items - packed) +
                                      " items, and may have " +
                                      std::to_string(limits::kItemsPerJob) +
                                      " that are not packed away: wait until some are");
  }
  // A call makes a few thousand at most.
  constexpr std::int32_t kChunksLeft = 1'000'000;
  if (job.chunks > std::numeric_limits<std::int32_t>::max() - kChunksLeft) {
    return Fail(Code::kConflict, name + " has no more numbers for its chunks; submit another job");
  }
  return {};
}

tl::unexpected<Error> OtherCallConflict(const Job& job) {
  return Fail(Code::kConflict,
              "this key was used before, for other items of " + PublicId(job) + "; use a new key");
}

Result<void> MayReopenItems(const Job& job, const std::vector<std::int64_t>& items,
                            const std::vector<Chunk>& chunks) {
  for (const std::int64_t item : items) {
    if (item < 0 || item >= job.items) continue;
    const bool there = std::any_of(chunks.begin(), chunks.end(), [item](const Chunk& chunk) {
      return item >= chunk.first_item && item < chunk.first_item + chunk.length();
    });
    if (there) continue;
    return Fail(Code::kConflict, "item " + std::to_string(item) + " of " + PublicId(job) +
                                     " is packed away, and cannot be run again: add it once more");
  }
  return {};
}

std::int32_t DaysOf(Duration time) {
  return static_cast<std::int32_t>(std::chrono::floor<std::chrono::days>(time).count());
}

}  // namespace tidemill
