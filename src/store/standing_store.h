// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/job.h"
#include "store/rows.h"

namespace tidemill {

// Entries of one call: some megabytes, looked up and written in well below a second, for which the
// job is locked.
inline constexpr std::size_t kEntriesPerCall = 10'000;
// Bytes of what makes an item or a call known: of a SHA-256, enough that no two are ever alike.
inline constexpr std::size_t kMarkBytes = 16;
// What is not said again for so long is forgotten: a queue hands a message out for 14 days at most,
// and who lists a bucket says all of it each day.
inline constexpr std::chrono::hours kMarkAge{24 * 15};

// The mark of a text: an item's `once`, or a call's key.
std::string MarkOf(std::string_view text);

// Makes chunks of some of a call's entries, by their places, ascending.
using ItemCutter =
    std::function<Result<std::vector<NewChunkItems>>(const std::vector<std::size_t>&)>;

// What one call adds to a job.
struct NewItems {
  std::string key = {};     // the call's mark; empty: it has none, and each copy of it adds
  std::string digest = {};  // of a call with a mark, as it came: tells a copy from another call
  std::vector<NewChunkItems> chunks = {};  // either these,
  // or these entries: their marks. One whose mark the job has is not added again; an empty one is.
  std::vector<std::string> once = {};
  ItemCutter cut = {};
};

struct Added {
  Job job;
  std::optional<std::int64_t> first = {};  // number of the first that was added by this call
  std::int64_t added = 0;
  std::int64_t known = 0;  // of the entries: were there already
  bool operator==(const Added&) const = default;
};

// How long chunks stay after they are rolled up: those whose items have all succeeded, and those in
// which some have failed, which people may want to send again.
struct PackAges {
  Duration done{};
  Duration failed{};
};

struct PackedAway {
  std::int32_t chunks = 0;
  PackedItems items = {};
  bool operator==(const PackedAway&) const = default;
};

// Jobs whose items arrive while they run, for months. As Store: each call is one transaction, may
// be repeated, and may come from any thread.
class StandingStore {
 public:
  virtual ~StandingStore() = default;
  // Adds items to an open job that is sealed. A mark becomes one item, whoever says it and however
  // often; saying it renews it. kConflict: the job takes no more, or the key is another call's.
  virtual Result<Added> AddItems(JobId id, const NewItems& items) = 0;
  // Forgets at most `limit` marks of items, and as many of calls and of parts of open jobs, that
  // nobody has said for `age`, in whole days. Answers how many.
  virtual Result<std::int64_t> ForgetMarks(Duration age, int limit) = 0;

  // Open jobs that have chunks of such an age, by id; all of them, or the ledger may lack some.
  virtual Result<std::vector<JobId>> ListPackable(const PackAges& ages, int limit) = 0;
  // Packs at most `limit` of them away: a chunk that is done, and whose items and outcomes are in
  // the ledger, goes with all that is kept of it, and its items are counted instead.
  virtual Result<PackedAway> PackChunks(JobId id, const PackAges& ages, int limit) = 0;
  // What of the job is packed away.
  virtual Result<PackedItems> FindPacked(JobId id) = 0;
};

}  // namespace tidemill
