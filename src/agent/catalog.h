// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/deps.h"
#include "agent/job_secrets.h"
#include "agent/work.h"
#include "item/command.h"
#include "item/data_plan.h"
#include "model/spec.h"

namespace tidemill {

// What an agent must know of jobs and items before it can run them, fetched from the servers and
// kept while leases need it. A job's secrets are as they were when the job was fetched, but for the
// keys of its role. Loop thread only.
class Catalog {
 public:
  // A job as its items are run.
  struct Entry {
    std::string id;  // as people write it
    std::string unique_id;
    std::string project;
    std::string objects;  // see Job
    std::string logs;     // the URL below which its logs are; empty: in no object store
    std::string saves;    // the same of its items' checkpoints
    std::int64_t items = 0;
    RunSpec run;
    std::optional<CommandPlan> plan;     // always there
    std::optional<DataPlan> data;        // likewise
    std::optional<ItemCommand> program;  // there if it is a loop
    ContainerSpec container;
    std::int64_t memory_max = 0;                // an item that ran out of memory may get up to this
    std::shared_ptr<const JobSecrets> secrets;  // null: its spec names none, and no role
    TimePoint role_due{};                       // when its role's keys are asked for again
    JobCode::Folder code;                       // null: it brought none
  };

  // `pass` is the agent's own, as it is at each moment.
  Catalog(const AgentDeps& deps, const AgentLimits& limits, const SessionPass& pass)
      : deps_(deps), limits_(limits), pass_(pass) {}

  // Calls `done` when the job, its secrets and the chunk's items are here, perhaps at once; asks
  // the servers again and again. kInvalid: they cannot be had, or this agent cannot read them.
  // `length` is the chunk's.
  void Get(ChunkKey chunk, int length, std::function<void(Result<void>)> done);
  // Asks for the keys of roles that are about to end; `renewed` is called for each job that has new
  // ones, later. To be called each second.
  void RenewRoles(const std::function<void(JobId)>& renewed);
  // Forgets what none of these leases' chunks need.
  void KeepOnly(const std::vector<ChunkKey>& chunks);

  // What one item of the job needs; null before Get has brought it.
  const Resources* EachOf(JobId job) const;
  // After Get.
  const Entry& JobOf(JobId job) const { return *jobs_.at(job).value; }
  // Whether Get has brought all of it, and KeepOnly left it.
  bool Has(ChunkKey chunk) const;
  // The program of a job that is a loop. After Get.
  ItemRun MakeProgram(JobId job) const;
  // What to run for an attempt. kInvalid: its item does not have what the command asks for.
  Result<ItemRun> Make(const Attempt& attempt) const;
  // Where its checkpoints are. Nothing: it has none.
  std::optional<CheckpointWork> CheckpointOf(const Attempt& attempt) const;
  // What it reads and writes. kInvalid: likewise.
  Result<DataWork> DataOf(const Attempt& attempt) const;
  // The item's text; empty in a bare range. After Get.
  std::string_view TextOf(const Attempt& attempt) const;

 private:
  using Waiting = std::function<void(const Result<void>&)>;
  // Something that is here, or on its way.
  template <typename T>
  struct Fetched {
    std::optional<T> value;
    std::vector<Waiting> waiting;
  };
  struct Items {
    std::vector<std::string> texts;  // none for a bare range
  };

  ItemFacts FactsOf(const Attempt& attempt) const;
  // Adds where its data is, as the item sees it.
  Result<void> AddPaths(const Attempt& attempt, ItemFacts& facts) const;
  void GetJob(JobId job, Waiting done);
  void GetItems(ChunkKey chunk, int length, Waiting done);
  void FetchJob(JobId job, int failures);
  void FetchRest(JobId job, std::shared_ptr<Entry> entry);
  void FetchCode(JobId job, std::shared_ptr<Entry> entry, int failures);
  void FetchSecrets(JobId job, std::shared_ptr<Entry> entry, int failures);
  void FetchRole(JobId job, std::shared_ptr<Entry> entry, int failures);
  void AddRole(Entry& entry, RoleKeys keys) const;
  void Settle(JobId job, Result<Entry> entry);
  void FetchItems(ChunkKey chunk, int length, int failures);
  // Calls `again` later if the error may pass.
  bool TryAgain(const Error& error, int failures, std::function<void()> again);

  const AgentDeps& deps_;
  const AgentLimits& limits_;
  const SessionPass& pass_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::map<JobId, Fetched<Entry>> jobs_;
  std::map<ChunkKey, Fetched<Items>> chunks_;
};

}  // namespace tidemill
