// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/deps.h"
#include "agent/work.h"

namespace tidemill {

// What the slots tell their agent. Never from inside a call of Slots.
class SlotEvents {
 public:
  virtual ~SlotEvents() = default;
  virtual void OnItemLog(const Attempt& attempt, std::string_view bytes) = 0;
  virtual void OnItemEnd(const Attempt& attempt, const ItemEnd& end) = 0;
  // The container ended under them. Only the first had begun.
  virtual void OnItemsLost(const std::vector<Attempt>& attempts, const std::string& reason) = 0;
  // A container of this job could not be opened; kInvalid: and never will be.
  virtual void OnOpenFailed(JobId job, const Error& error) = 0;
  virtual void OnOpened(JobId job) = 0;
  // There may be room for more: a container is gone, or the engine is back.
  virtual void OnRoom() = 0;
};

// The containers of a machine: each belongs to one job and has what one item of it asks for. Loop
// thread only.
class Slots {
 public:
  Slots(const AgentDeps& deps, const AgentOptions& options, SlotEvents& events);
  // Ends all containers. No event comes from here on.
  ~Slots();

  // Containers that are opened from now on are held to it.
  void UsePolicy(const ContainerPolicy& policy) { policy_ = policy; }
  // Brings the engine up; Open waits for it.
  void Start();

  // A run can be given to some open container of the job that has fewer than `depth`.
  bool HasPlace(JobId job, int depth) const;
  // After HasPlace: to the container that has the fewest.
  void Run(const Attempt& attempt, int depth, ItemRun run);
  // Ends the runs for which `is_over` is true; their ends come as any other.
  void StopIf(const std::function<bool(const ItemKey&)>& is_over);

  // Sees to it that the job has, or is getting, `count` containers, as far as there is room. A
  // container without runs makes way if its job does not need it.
  void Want(const ContainerSpec& spec, int count, const std::function<bool(JobId)>& is_needed);
  // Ends containers that had nothing to run for longer than the limit.
  void CloseIdle();
  void CloseAll();

  std::size_t size() const { return slots_.size(); }
  int SlotsOf(JobId job) const;
  // What the containers of each job use now; the processors, on average since the last call.
  std::map<JobId, Resources> MeasureUse();
  // The engine has not been reached since then; nothing if it is up.
  std::optional<TimePoint> down_since() const { return down_since_; }
  const EngineInfo& engine() const { return info_; }
  bool started() const { return started_; }

 private:
  struct Slot;
  void Recover();
  void Recovered(const Result<EngineInfo>& info);
  void Open(ContainerSpec spec);
  void Opened(Slot* slot, Result<std::unique_ptr<Container>> container);
  // Open waits until the engine has been asked again, later each time.
  void TryAgainLater();
  void Close(Slot* slot);
  Resources Free() const;
  bool HasOpen(JobId job) const;
  bool MakeRoom(const Resources& each, const std::function<bool(JobId)>& is_needed);
  Slot* FewestRuns(JobId job, int depth) const;

  const AgentDeps& deps_;
  const AgentOptions& options_;
  SlotEvents& events_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();

  std::vector<std::unique_ptr<Slot>> slots_;
  std::uint64_t last_run_ = 0;
  int opening_ = 0;
  ContainerPolicy policy_;
  EngineInfo info_;
  bool started_ = false;
  bool up_ = false;
  bool asking_ = false;  // or about to ask
  std::optional<TimePoint> down_since_;
  int failures_ = 0;  // since a container was opened
};

}  // namespace tidemill
