// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/deps.h"
#include "agent/image_pins.h"
#include "agent/job_secrets.h"
#include "agent/room.h"
#include "agent/slot_stream.h"
#include "agent/verdict.h"
#include "agent/work.h"

namespace tidemill {

// What the slots tell their agent. Never from inside a call of Slots.
class SlotEvents {
 public:
  virtual ~SlotEvents() = default;
  virtual void OnItemLog(const Attempt& attempt, std::string_view bytes) = 0;
  virtual void OnItemProgress(const Attempt& attempt, std::int32_t permille,
                              std::string_view note) = 0;
  // `why` is what the agent had it stopped for, if it had.
  virtual void OnItemEnd(const Attempt& attempt, const ItemEnd& end, StopWhy why) = 0;
  // The container ended under them. Only the first had begun, and ran for about `ran`; in a loop
  // nobody knows who had.
  virtual void OnItemsLost(const std::vector<Attempt>& attempts, Duration ran,
                           const std::string& reason) = 0;
  // A container of this job could not be opened; kInvalid: and never will be.
  virtual void OnOpenFailed(JobId job, const Error& error) = 0;
  virtual void OnOpened(JobId job) = 0;
  // There may be room for more: a container is gone, or the engine is back.
  virtual void OnRoom() = 0;
};

// The containers of a machine: each belongs to one job and has what one item of it needs, devices
// of its own included, for its whole life. All together they never have more than the machine. Loop
// thread only. A container that serves one run ends with it. A Need that is asked for here has its
// memory, never 0 for 'as the spec says'.
class Slots {
 public:
  // All that it is given outlives it.
  Slots(const AgentDeps& deps, const AgentOptions& options, ImagePins& pins, SlotEvents& events);
  // Ends all containers. No event comes from here on.
  ~Slots();

  // Containers that are opened from now on are held to it.
  void UsePolicy(const ContainerPolicy& policy) { policy_ = policy; }
  const ContainerPolicy& policy() const { return policy_; }
  // Brings the engine up; Open waits for it.
  void Start();

  // How many containers of a job may have runs; of a job that is not here, all for which there is
  // room. Those beyond it end what they have, take nothing more, and make way for others.
  void SetLimits(std::map<JobId, std::int64_t> limits) { limits_ = std::move(limits); }
  std::optional<std::int64_t> LimitOf(JobId job) const;

  // A run can be given to some open container for the need that has fewer than `depth`; alone, to
  // one that has none.
  bool HasPlace(const Need& need, int depth, bool alone = false) const;
  // After HasPlace: to the container that has the fewest.
  void Run(const Attempt& attempt, const Need& need, int depth, ItemRun run);
  // Ends the runs for which `is_over` is true; their ends come as any other.
  void StopIf(StopWhy why, const std::function<bool(const ItemKey&)>& is_over);
  // The same of those that wait behind another in their container. In a loop nobody knows which do.
  void StopWaiting(StopWhy why);

  // A container that is wanted.
  struct Wish {
    ContainerSpec spec;
    bool once = false;      // for one run
    ItemRun program = {};   // of a loop
    Duration timeout = {};  // of each run; zero: none
    Duration grace = {};
    std::shared_ptr<const JobSecrets> secrets = {};  // with the keys of its role, if it has one
    // What its mounts need: it is held while the container is there.
    std::vector<std::shared_ptr<const void>> keeps = {};
  };
  using IsNeeded = std::function<bool(const Need&)>;
  // Ends the run of a key for this, and its container as soon as that is over; what else is in it
  // moves on.
  void Retire(const ItemKey& key, StopWhy why);

  // Sees to it that a job has, or will have, `count` containers with these limits, as far as there
  // is room. A container without runs makes way if nothing needs it.
  void Want(JobId job, const Resources& limits, int count, const std::function<Wish()>& make,
            const IsNeeded& is_needed);
  // The job's containers have the keys of its role from now on.
  void UseRole(JobId job, const std::shared_ptr<const JobSecrets>& secrets);
  // By their place in the machine's list: whether each device may be given out. A container that
  // has one that may not ends what it has begun, and takes nothing more.
  void UseDevices(const std::vector<bool>& usable);
  // What an earlier life of the agent has left running has its share of the machine from the start,
  // and waits to be adopted. `decide` says what is to be done with the containers of a job.
  enum class Found { kWait, kAdopt, kEnd };
  struct Adoption {
    std::function<Found(JobId)> decide;
    // The attempt that a run with this tag is, or nothing: then the run is stopped.
    std::function<std::optional<Attempt>(const std::string&)> resume;
    std::function<Wish(const Need&)> make;
  };
  void Adopt(const Adoption& adoption);

  // An end that init should have told.
  struct LateRun {
    Attempt attempt;
    ItemEnd end;
    StopWhy why = StopWhy::kNone;
  };
  // Init ends runs at their timeout, and when they are stopped; but it may be starved by what runs
  // beside it. This ends the containers whose init has not done so, and says what became of their
  // runs: those that had not begun move on. To be called each second.
  std::vector<LateRun> EndLate();
  // Ends containers that had nothing to run for longer than the limit; a loop is told so before.
  void CloseIdle();
  // What had begun, and ran for about `ran`.
  struct Begun {
    Attempt attempt;
    Duration ran{};
  };
  // Ends all; those that are being opened, as soon as they are. What had begun in them is returned.
  std::vector<Begun> CloseAll();
  // Something runs, or waits to be run, in a container.
  bool busy() const;

  // An item that was given to a container.
  struct Whereabouts {
    Attempt attempt;
    bool begun = false;       // it runs, or in a loop may; else it waits behind others
    std::size_t streams = 0;  // that are open into the container
  };
  std::optional<Whereabouts> WhereIs(JobId job, std::int64_t item) const;
  // Opens a stream beside the run of a key, with a number that is chosen here, and the variables of
  // its devices. 0: the run is over.
  std::uint64_t OpenStream(const ItemKey& key, StreamStart start,
                           const std::weak_ptr<SlotStream>& told);
  // The container of a stream; null: the stream has ended.
  Container* StreamContainer(std::uint64_t number) const;
  // Nothing is told of it from here on.
  void CloseStream(std::uint64_t number);

  // Something that an earlier life has left is still to be adopted, or ended.
  bool has_left() const;
  // Of what runs.
  std::set<DataPlace> DataPlaces() const;

  std::size_t size() const { return slots_.size(); }
  // Those that may be given runs.
  int SlotsOf(const Need& need) const;
  // Those that have runs.
  int BusyOf(const Need& need) const;
  // What the containers of each job use now; the processors, on average since the last call.
  std::map<JobId, Resources> MeasureUse();
  // What the first run of each container has written, or those before it there.
  struct DiskUse {
    Attempt attempt;
    std::int64_t bytes = 0;
  };
  // Of the jobs that are asked for: to measure it is not cheap.
  std::vector<DiskUse> DiskUses(const std::function<bool(JobId)>& is_asked) const;
  // Jobs without an open container, and since when the first of them is being opened.
  std::map<JobId, TimePoint> Openings() const;
  // The engine has not been reached since then; nothing if it is up.
  std::optional<TimePoint> down_since() const { return down_since_; }
  const std::string& down_reason() const { return down_reason_; }
  const EngineInfo& engine() const { return info_; }
  bool started() const { return started_; }

 private:
  struct Slot;
  void Recover();
  void Recovered(const Result<EngineInfo>& info);
  void Open(Wish wish, Room::Share share);
  void OpenPinned(Slot* slot, const Result<ContainerSpec>& spec);
  void Opened(Slot* slot, Result<std::unique_ptr<Container>> container);
  // Open waits until the engine has been asked again, later each time.
  void TryAgainLater();
  Duration RetryDelay(int failures) const;
  void NoteFailure(JobId job);
  void Close(Slot* slot);
  void LetGo(Slot& slot);
  static void TellRole(Slot& slot);
  void TellDevices(const Slot& slot, std::vector<std::string>& env) const;
  Slot* SlotOfStream(std::uint64_t number) const;
  static void StopWaiting(Slot& slot, StopWhy why);
  void Keep(const FoundContainer& found);
  // False: none of its runs is ours any more.
  bool AdoptOne(Slot& slot, const Adoption& adoption);
  bool HasOpen(JobId job) const;
  // Of a machine's room for one more; nothing if it cannot be made.
  std::optional<Room::Share> MakeRoom(const Resources& limits, const IsNeeded& is_needed);
  Slot* FewestRuns(const Need& need, int depth, bool alone) const;
  // The job's containers that may have runs; one that is not among them ends what it has.
  std::vector<Slot*> InLimit(JobId job) const;
  bool IsBeyondLimit(const Slot& slot) const;
  // One of the job's containers that nothing needs makes way for another. False: there is none, and
  // the job has all that it may have.
  bool MakeWayInLimit(JobId job, const IsNeeded& is_needed);

  const AgentDeps& deps_;
  const AgentOptions& options_;
  ImagePins& pins_;
  SlotEvents& events_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();

  Room room_;
  std::map<JobId, std::int64_t> limits_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::uint64_t last_run_ = 0;
  std::uint64_t last_stream_;  // rises over all lives of the agent
  TimePoint looked_at_{};      // for late runs
  int opening_ = 0;
  ContainerPolicy policy_;
  EngineInfo info_;
  bool started_ = false;
  bool up_ = false;
  bool asking_ = false;  // or about to ask
  std::optional<TimePoint> down_since_;
  std::string down_reason_;
  int failures_ = 0;  // of asking it, in a row
  struct OpenRetry {
    int failures = 0;
    TimePoint at{};  // before it, no container of the job is opened
  };
  std::map<JobId, OpenRetry> retries_;  // of jobs whose last container could not be opened
};

}  // namespace tidemill
