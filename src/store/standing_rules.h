// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "store/standing_store.h"

// What every store decides alike of items that arrive.
namespace tidemill {

// The entries of a call that are to be added.
struct NewOnes {
  std::vector<std::size_t> places;
  std::vector<std::string_view> marks;  // of those that have one; the call's own strings
  std::int64_t known = 0;               // the other entries
};
// Of entries with one mark in one call the first counts.
NewOnes ChooseNew(const NewItems& items, const std::set<std::string>& known);
// What is added, as chunks.
Result<std::vector<NewChunkItems>> CutNew(const NewItems& items, const NewOnes& ones);

// Whether a job that has so many items packed away takes `more`.
Result<void> MayAddItems(const Job& job, std::int64_t more, std::int64_t packed);
tl::unexpected<Error> OtherCallConflict(const Job& job);

// Of items that are to be reopened, with all chunks that have any of them: none is packed away.
Result<void> MayReopenItems(const Job& job, const std::vector<std::int64_t>& items,
                            const std::vector<Chunk>& chunks);

std::int32_t DaysOf(Duration time);

}  // namespace tidemill
