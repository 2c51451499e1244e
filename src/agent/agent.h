// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/catalog.h"
#include "agent/deps.h"
#include "agent/device_watch.h"
#include "agent/health.h"
#include "agent/image_pins.h"
#include "agent/kept.h"
#include "agent/masked_logs.h"
#include "agent/notice.h"
#include "agent/pace.h"
#include "agent/progress.h"
#include "agent/slots.h"
#include "agent/staged.h"
#include "agent/stream_book.h"
#include "agent/tails.h"
#include "agent/work.h"

namespace tidemill {

// A machine's agent as a reactor: it takes leases, runs their items in containers, and tells what
// became of them. It runs unchanged in a process and in the simulator. Loop thread only. What
// survives a restart is its session: leases are then given again, and their items run again.
class Agent : private SlotEvents {
 public:
  Agent(AgentDeps deps, AgentOptions options);
  // Ends all containers and says nothing to anybody: a crash.
  ~Agent() override = default;

  void Start();
  // Ends what runs, with its grace, gives everything back and ends the session; `done` comes at the
  // latest after the limits for both.
  void Leave(std::function<void()> done);
  // Takes nothing more, and gives back at once what has not begun. What runs has the time that the
  // notice leaves; then, or as soon as nothing runs, the agent leaves and says so by its options.
  void OnNotice(const Notice& notice);

  bool joined() const { return joined_; }
  // Its name: the one that it was given, or another by which the servers have it.
  const std::string& machine() const { return machine_; }
  const EngineInfo& engine() const { return slots_.engine(); }

 private:
  // --- the session ---
  void BeginSession(SessionPass pass);
  void UsePass(SessionPass pass);
  void Join();
  void SendJoin(std::string token, std::optional<MachineProof> proof);
  void OnJoined(const Result<Joined>& answer);
  void LoseSession();

  // --- how it leaves ---
  // What runs is ended, with the grace that is left.
  void EndAll(const LeaveTimes& times);
  // Nothing is begun any more: what waits goes back, and when nothing runs, it leaves.
  void Ebb();
  void GiveTailBack();
  // Says goodbye as soon as nothing runs any more, or has had its time.
  void SayGoodbye();
  void Left();
  void GiveUpIfDue();
  bool IsBusy() const;

  // --- syncs ---
  // Arranges for the next sync: at once, when one is due, or when the last failure is long enough
  // ago.
  void Consider();
  TimePoint NextSync() const;
  void SyncNow();
  SyncRequest MakeSync();
  void OnSynced(Result<SyncResult> result);
  void SyncFailed(const Error& error);
  void WaitForWork();
  Duration Backoff();

  // --- leases and their items ---
  void Take(const Grant& grant);
  void AdoptFound();
  // Starts what can be started.
  void Fill();
  void FillNeed(const Need& need);
  void RunStaged(const Need& need, const Need& resolved);
  void Begin(const Attempt& attempt, const Need& need, int depth);
  bool MayStart() const;
  Slots::Wish WishFor(const Need& need) const;
  // How many runs a container for the need is given at a time.
  int DepthOf(const Need& need) const;
  // What a container for it may use; nothing before its job is here.
  std::optional<Resources> LimitsOf(const Need& need) const;
  // The same need, with its memory. Its job must be here.
  Need Resolve(const Need& need) const;
  // Held, and will be over before a sync could bring more.
  bool EndsSoon(const Need& need, const Work::Load& load) const;
  std::map<JobId, std::int64_t> Holds() const;
  // For this long, no lease is asked for.
  void AskNothingFor(Duration time);
  void GiveAllBack();
  // Gives back what waits of these jobs, as a server asks for it: others have room for it.
  void Obey(const std::vector<JobId>& back);
  // What the servers may fill with new leases.
  Resources Free() const;
  void Rest(JobId job, RestingJob resting);
  void Tick();
  void EndLate();
  void Tidy();
  // Logs when the network of containers was opened or shut.
  void WatchNetwork();
  // Other devices are given out than before.
  void UseDevices();
  void GiveUnfitBack();
  // Ends what has written more than it may, and looks whether the disk is full.
  void WatchDisk();
  void OnMachineFault(const std::string& reason);
  // The one that runs and has written most of what is there, if that is much.
  std::optional<Attempt> MostOfDisk() const;
  std::string DescribeMachine() const;
  // What a job whose first container is being opened waits for.
  std::string OpeningText(JobId job) const;
  std::vector<JobUse> JobUses();

  // --- SlotEvents ---
  void OnItemLog(const Attempt& attempt, std::string_view bytes) override;
  void OnItemProgress(const Attempt& attempt, std::int32_t permille,
                      std::string_view note) override;
  void OnItemEnd(const Attempt& attempt, const ItemEnd& end, StopWhy why) override;
  void OnItemsLost(const std::vector<Attempt>& attempts, Duration ran,
                   const std::string& reason) override;
  void OnOpenFailed(JobId job, const Error& error) override;
  void OnOpened(JobId job) override;
  void OnRoom() override;
  Outcome OutcomeOf(const Attempt& attempt, const ItemEnd& end, Cause cause,
                    const std::string& tail) const;
  // `tail`: its last words.
  void Record(const Attempt& attempt, const ItemEnd& end, StopWhy why, const std::string& tail);
  void OnRanOut(const Attempt& attempt);
  // Tells what became of an attempt.
  void Finish(const Attempt& attempt, const ItemEnd& end, Cause cause, const std::string& tail,
              bool final = false);
  void Strike(const Attempt& attempt, const std::string& reason);
  void UseRole(JobId job);
  std::string Masked(JobId job, std::string_view text) const;
  void BeginLog(const Attempt& attempt);
  std::string EndLog(const Attempt& attempt);
  void FailUnrun(const Attempt& attempt, int exit, const std::string& why);

  // --- what is measured ---
  void Measure(const Attempt& attempt, const ItemEnd& end, StopWhy why);
  // Nothing came of what it ran, and that costs its item nothing.
  void AddLost(const Attempt& attempt, Duration ran);
  // How long a container was taken by it alone.
  Duration ShareOf(const Attempt& attempt, Duration ran) const;
  std::vector<Measured> TakeMeasured();
  void UntakeMeasured();

  // --- data ---
  bool HasData(JobId job) const;
  bool HasOutputs(const Attempt& attempt) const;
  // Picks what is to run next, and has its inputs fetched.
  void Stage(const Need& need);
  void LookForOutputs(const Attempt& attempt, const DataWork& work);
  void Fetch(const Attempt& attempt, const DataWork& work);
  void OnFetched(const Attempt& attempt, const Result<void>& fetched);
  void OnNotFetched(const Attempt& attempt, const Error& error);
  void StoreOutputs(const Attempt& attempt, const ItemEnd& end);
  void TryToStore(const ItemKey& key);
  void OnStored(const ItemKey& key, const Result<void>& stored);
  void OnNotStored(const StoringAttempt& storing, const Error& error);
  // Those that have not begun go back.
  void DropStaged(const std::function<bool(const Attempt&)>& is_over);
  void ForgetData(const Attempt& attempt);
  void KeepData();
  void ForgetAllData();

  // --- checkpoints ---
  // Its checkpoint is saved from now on, until it ends.
  void Watch(const Attempt& attempt);
  void SaveDue();
  void OnSaved(const DataPlace& place, const Result<void>& saved);
  // Ends an attempt that runs; first, what it leaves for the next one is saved.
  void SaveAndRecord(const Attempt& attempt, const ItemEnd& end, StopWhy why,
                     const std::string& tail);
  void BeginLastSave(const DataPlace& place);
  void EndLastSave(const DataPlace& place, const Result<void>& saved);
  void EndWith(const EndingAttempt& ending);
  void DropSaves(const Attempt& attempt);

  // --- caches ---
  // The lease's items may run as soon as what all of its job's items need is here.
  void Prepare(LeaseId lease, JobId job);
  void OnCache(JobId job, const Result<JobCache::Held>& held);
  void OnNoCache(JobId job, const Error& error);
  void AddCache(JobId job, Slots::Wish& wish) const;
  void AddCache(JobId job, ItemRun& run) const;
  // kInvalid: the job cannot run on this machine, and why.
  Result<std::vector<Mount>> VolumesOf(JobId job) const;

  // What is begun in one session is void in the next, and when the agent is destroyed.
  template <typename Call>
  auto InThisSession(Call call);

  const AgentDeps deps_;
  const AgentOptions options_;
  DeviceWatch devices_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();

  SessionPass pass_;
  std::string machine_;
  std::uint64_t session_count_ = 0;
  bool joined_ = false;
  bool heard_in_session_ = false;           // a sync was answered: what leases we have is known
  std::optional<TimePoint> complained_at_;  // that it cannot join
  Duration heartbeat_{};
  Duration life_{};

  Work work_;
  Catalog catalog_;
  Tails tails_;
  MaskedLogs logs_;
  ImagePins pins_;
  Slots slots_;
  StreamBook streams_;
  ProgressBook progress_;
  Health health_;

  // Of the sync under way, or the last one.
  bool syncing_ = false;
  TimePoint sent_at_{};
  TimePoint heard_at_{};    // when the last sync that was answered was sent
  TimePoint not_before_{};  // no sync earlier than this
  std::size_t sent_ = 0;    // settlements
  std::size_t troubles_sent_ = 0;
  bool leave_sent_ = false;
  Resources asked_{};  // for this much room
  int failures_ = 0;
  int refusals_ = 0;  // sessions in a row whose syncs no server would take
  TimerId sync_timer_ = TimerId::kNone;
  TimePoint sync_armed_ = TimePoint::max();
  Duration beat_{};  // the heartbeat less a random part, so that agents do not stay together
  bool waiting_ = false;
  // The room for which the servers had nothing; they say when they have.
  std::optional<Resources> dry_;

  TimePoint news_since_ = TimePoint::max();
  TimePoint status_at_ = TimePoint::min();
  std::string open_network_;   // as it was last logged
  bool asked_engine_ = false;  // which devices it can give, since it was found
  std::map<JobId, Pace> paces_;
  std::map<JobId, RanItems> ran_;   // since it was last told
  std::map<JobId, RanItems> told_;  // with the sync under way
  std::vector<Trouble> troubles_;
  std::map<JobId, RestingJob> resting_;
  TimePoint no_asks_before_{};
  std::map<JobId, FailingJob> failing_;
  std::map<Need, int> ran_out_;     // items that ran out of memory since the last that went back
  std::map<ItemKey, int> strikes_;  // containers that ended under an item

  // The numbers of places rise over all lives of the agent.
  const std::uint64_t first_data_;
  std::uint64_t last_data_;
  bool kept_data_ = false;  // what earlier lives have left is gone
  Staged staged_;
  std::map<ItemKey, StoringAttempt> storing_;
  std::map<DataPlace, WatchedAttempt> watched_;
  std::map<DataPlace, EndingAttempt> ending_;
  std::map<JobId, CachedJob> caches_;
  // Until it is known what of an earlier life still runs, and for as long as that does.
  std::shared_ptr<const void> earlier_cache_;

  TimePoint served_at_{};                 // when a server last took a join or a sync
  bool closing_ = false;                  // there was a notice: nothing is begun any more
  TimePoint stop_at_ = TimePoint::max();  // what then still runs is ended
  bool leaving_ = false;
  Duration say_time_{};   // for the last sync
  bool goodbye_ = false;  // nothing runs any more: the last sync is due
  AgentEnd why_ended_ = AgentEnd::kNotice;
  std::function<void()> left_ = [this] { options_.ended(why_ended_); };
};

template <typename Call>
auto Agent::InThisSession(Call call) {
  return [this, count = session_count_, alive = std::weak_ptr<char>(alive_),
          call = std::move(call)](auto&&... values) mutable {
    if (alive.expired() || count != session_count_) return;
    call(std::forward<decltype(values)>(values)...);
  };
}

}  // namespace tidemill
