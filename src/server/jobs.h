// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/arrivals.h"
#include "server/deps.h"
#include "server/failures.h"
#include "server/items.h"
#include "server/stats.h"

namespace tidemill {

// A part of a list of items, as a person sends it.
struct PartRequest {
  std::int32_t number = 0;
  std::string text;              // items, a line each;
  std::int64_t range_items = 0;  // or this many that are nothing but their numbers
};

struct JobCountsPage {
  std::vector<JobCounts> jobs;
  bool more = false;  // there may be older ones
};

// Machines say that they cannot run a job.
struct TroubleWord {
  std::string reason;
  std::set<SessionId> sessions;  // whose word it is
  bool insists = false;          // they are enough, however few
};

// The calls of people. Loop thread only.
class Jobs {
 public:
  Jobs(ServerDeps deps, std::function<void(JobId)> sweep_soon)
      : deps_(deps), sweep_soon_(std::move(sweep_soon)) {}

  void Create(NewJob job, Reply<Job> reply);
  void AddPart(JobId id, PartRequest part, Reply<Job> reply);
  void AddItems(JobId id, ArrivingItems items, Reply<Added> reply);
  void Seal(JobId id, std::int32_t parts, Reply<Job> reply);
  void Close(JobId id, Reply<Job> reply);
  void Pause(JobId id, Reply<Job> reply);
  // Pauses a job that is active, for something that no person has said, if enough machines say so:
  // three, or all that its project has.
  enum class Paused { kYes, kNotEnough, kNotActive };
  void PauseFor(JobId id, const TroubleWord& word, Reply<Paused> reply);
  // What a server has learnt of the job; see the store.
  void EndTrial(JobId id, Reply<void> reply);
  void PauseTrial(JobId id, std::string reason, Reply<void> reply);
  void RaiseMemory(JobId id, std::int64_t bytes, Reply<void> reply);
  // Of a session that holds a lease of the job; as for Server::FetchJob.
  struct Pin {
    SessionPass pass;
    JobId job;
    std::string digest;
    Duration token_life{};
  };
  void PinImage(const Pin& pin, Reply<std::string> reply);
  void Resume(JobId id, Reply<Job> reply);
  void Cancel(JobId id, Reply<Job> reply);
  void Retry(JobId id, ReopenWhich which, Reply<Reopened> reply);
  // Those that have failed so by then.
  void RetryGroup(JobId id, FailureKey group, Reply<Reopened> reply);

  void List(JobFilter filter, Reply<std::vector<Job>> reply);
  // Counts as Show has them; those of a job that is over are counted once.
  void ListCounts(JobFilter filter, Reply<JobCountsPage> reply);
  // At most a second old, and no older than the last change that went through this server: many
  // people may watch one job.
  void Show(JobId id, Reply<JobCounts> reply);
  void Items(ItemsRequest request, Reply<ItemPage> reply);
  void Stats(JobId id, Reply<JobStats> reply);
  void ChunkBody(ChunkKey key, Reply<ChunkItems> reply);
  void Machines(MachineFilter filter, Reply<std::vector<ListedMachine>> reply);

 private:
  struct Shown {
    JobCounts counts;
    TimePoint at;
  };
  template <typename T, typename Call>
  void Ask(Call call, Reply<T> reply);
  // The same for a call that changes the job: what was shown of it is out of date.
  template <typename T, typename Call>
  void Change(JobId id, Call call, Reply<T> reply);

  void CountMissing(std::vector<Job> jobs, int limit, Reply<JobCountsPage> reply);
  void ForgetShown(TimePoint now);
  void Remember(const JobCounts& counts, TimePoint now);

  const ServerDeps deps_;
  const std::function<void(JobId)> sweep_soon_;
  std::map<JobId, Shown> shown_;
};

}  // namespace tidemill
