// SPDX-License-Identifier: Apache-2.0
// The agent's machine: what is free of it, how it is, and what people are told of it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "agent/agent.h"
#include "base/limits.h"

namespace tidemill {
namespace {

// A container that is opened faster is not worth a word.
constexpr Duration kSlowOpening = std::chrono::seconds(2);
// Less than this fills no disk by itself.
constexpr std::int64_t kMuchDisk = 64 << 20;

// For people: "10.0 GiB".
std::string SizeText(std::int64_t bytes) {
  const std::int64_t tenths = bytes / (1LL << 20) * 10 / 1024;
  if (tenths < 10) return std::to_string(bytes / (1LL << 20)) + " MiB";
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

// Which of them are left is for those to say who take them: the names are those of all.
void NameAll(const Devices& all, Devices& left) {
  for (auto& [kind, device] : left) {
    const auto found = all.find(kind);
    if (found != all.end() && kind != kWholeMachine) SetDeviceIds(device, DeviceIds(found->second));
  }
}

}  // namespace

void Agent::AskNothingFor(Duration time) {
  no_asks_before_ = std::max(no_asks_before_, deps_.loop.Now() + time);
}

bool Agent::EndsSoon(const Need& need, const Work::Load& load) const {
  const auto pace = paces_.find(need.job);
  if (pace == paces_.end() || pace->second.mean_us() <= 0 || !LimitsOf(need)) return false;
  if (catalog_.JobOf(need.job).run.mode == Mode::kLoop) {
    // However long a batch takes: the next one must wait here, and may be larger than this.
    const double most = std::min<double>(4 * pace->second.together(), options_.limits.most_in_loop);
    return load.unfinished() < most;
  }
  const auto ahead = static_cast<double>(options_.limits.ask_ahead.count());
  const int slots = std::max(1, slots_.SlotsOf(Resolve(need)));
  return pace->second.mean_us() < ahead && pace->second.LastsUs(load.unfinished(), slots) < ahead;
}

std::map<JobId, std::int64_t> Agent::Holds() const {
  std::map<JobId, std::int64_t> holds;
  for (const auto& [need, load] : work_.loads()) {
    if (load.unfinished() > 0 && !EndsSoon(need, load)) holds[need.job] += load.unfinished();
  }
  return holds;
}

// What is held counts as room when it will be done before a sync could bring more. A container that
// has nothing to run makes way, so it counts as room too.
Resources Agent::Free() const {
  if (closing_ || !slots_.started() || slots_.down_since()) return {0, 0};
  if (work_.leases() >= limits::kLeasesPerSession) return {0, 0};
  const TimePoint now = deps_.loop.Now();
  if (now < no_asks_before_ || health_.rests(now)) return {0, 0};
  Resources free = devices_.whole();
  for (const auto& [need, load] : work_.loads()) {
    if (EndsSoon(need, load)) continue;
    const std::optional<Resources> each = LimitsOf(need);
    if (!each) return {0, 0};  // just granted: how much it takes is not known yet
    std::int64_t slots =
        std::min<std::int64_t>(load.unfinished(), SlotsIn(devices_.whole(), *each));
    if (const auto limit = slots_.LimitOf(need.job)) {
      // What has begun goes on.
      const std::int64_t busy = slots_.BusyOf(Resolve(need));
      slots = std::min(slots, std::max(*limit, busy));
    }
    // What waits for a container that cannot be opened keeps nobody else from running.
    if (failing_.contains(need.job)) slots = slots_.BusyOf(Resolve(need));
    tidemill::Take(free, *each, slots);
    free.devices[kWholeMachine] = 0;
  }
  free.millicpus = std::max<std::int64_t>(free.millicpus, 0);
  free.memory_bytes = std::max<std::int64_t>(free.memory_bytes, 0);
  std::erase_if(free.devices, [](const auto& device) { return device.second.count <= 0; });
  NameAll(devices_.whole().devices, free.devices);
  return free;
}

void Agent::GiveAllBack() {
  std::set<JobId> jobs;
  for (const auto& [need, load] : work_.loads()) jobs.insert(need.job);
  DropStaged([](const Attempt&) { return true; });
  for (const JobId job : jobs) work_.GiveBack(job);
}

// Before it is known what of an earlier life still runs, that would go back too; the servers ask
// again with the next sync.
void Agent::Obey(const std::vector<JobId>& back) {
  if (back.empty() || !slots_.started() || slots_.has_left()) return;
  for (const JobId job : back) {
    const bool has_some =
        std::any_of(work_.loads().begin(), work_.loads().end(), [&](const auto& entry) {
          const auto& [need, load] = entry;
          return need.job == job && (load.waiting > 0 || staged_.CountOf(need) > 0);
        });
    if (!has_some) continue;
    DropStaged([job](const Attempt& attempt) { return attempt.chunk.job == job; });
    work_.GiveBack(job);
    sent_at_ = TimePoint{};  // others wait for it: a sync is due at once
  }
}

void Agent::Tick() {
  deps_.loop.After(options_.limits.tick, [this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) Tick();
  });
  WatchNetwork();
  WatchDisk();
  devices_.Tick();
  GiveUnfitBack();
  EndLate();
  slots_.CloseIdle();
  catalog_.RenewRoles([this](JobId job) { UseRole(job); });
  SaveDue();
  Tidy();
  const auto down = slots_.down_since();
  if (down && deps_.loop.Now() - *down > options_.limits.engine_outage) GiveAllBack();
  GiveUpIfDue();
  Fill();
  Consider();
}

void Agent::EndLate() {
  for (const Slots::LateRun& late : slots_.EndLate()) {
    if (late.end.exit != 0) {
      OnItemLog(late.attempt, "tidemill: it did not end in time; its container was ended\n");
    }
    OnItemEnd(late.attempt, late.end, late.why);
  }
}

// Forgets what nothing needs any more.
void Agent::Tidy() {
  catalog_.KeepOnly(work_.Chunks());
  DropStaged([this](const Attempt& attempt) { return !work_.Runs(attempt.key); });
  const TimePoint now = deps_.loop.Now();
  const auto is_over = [this](const auto& entry) { return !work_.HasUnfinished(entry.first); };
  std::erase_if(resting_, [now](const auto& entry) { return entry.second.until <= now; });
  pins_.ForgetIf([this](JobId job) { return !work_.HasUnfinished(job); });
  std::erase_if(failing_, is_over);
  // Also if there was no room to try it again.
  const auto given_up = std::find_if(failing_.begin(), failing_.end(), [&](const auto& entry) {
    return now - entry.second.since > options_.limits.engine_outage;
  });
  if (given_up != failing_.end()) Rest(given_up->first, {.reason = given_up->second.reason});
  std::erase_if(paces_, is_over);
  std::erase_if(caches_,
                [&](const auto& entry) { return entry.second.held != nullptr && is_over(entry); });
  std::erase_if(ran_out_,
                [this](const auto& entry) { return !work_.HasUnfinished(entry.first.job); });
  std::erase_if(strikes_, [this](const auto& entry) { return !work_.Holds(entry.first.lease); });
}

void Agent::WatchNetwork() {
  if (!slots_.started()) return;
  std::string open = deps_.engine.open_network();
  if (open == open_network_) return;
  if (open.empty()) {
    deps_.log.Info("firewall.shut");
  } else {
    deps_.log.Warn("firewall.open", {{"reason", open}});
  }
  open_network_ = std::move(open);
  status_at_ = TimePoint::min();  // the servers hear it at once
}

// --- faults ---

void Agent::WatchDisk() {
  const auto most_of = [this](JobId job) {
    return work_.HasUnfinished(job) && catalog_.EachOf(job) != nullptr
               ? catalog_.JobOf(job).run.disk_bytes
               : 0;
  };
  for (const Slots::DiskUse& use : slots_.DiskUses([&](JobId job) { return most_of(job) > 0; })) {
    const std::int64_t most = most_of(use.attempt.chunk.job);
    if (use.bytes <= most || !work_.Runs(use.attempt.key)) continue;
    OnItemLog(use.attempt,
              "tidemill: it has written more than its disk of " + SizeText(most) + "\n");
    slots_.Retire(use.attempt.key, StopWhy::kDisk);
  }
  const std::string trouble = options_.disk_trouble();
  if (!trouble.empty()) OnMachineFault(trouble);
}

// Nothing that runs here can be believed to fail by its own doing, but for one that has filled the
// disk: if it were not to fail, it would go on and fill the next.
void Agent::OnMachineFault(const std::string& reason) {
  if (!health_.OnFault(deps_.loop.Now(), reason)) return;
  deps_.log.Error("machine.fault", {{"reason", reason}});
  if (const auto guilty = MostOfDisk()) {
    OnItemLog(*guilty, "tidemill: it has filled the disk of its machine\n");
    slots_.Retire(guilty->key, StopWhy::kDisk);
  }
  slots_.StopIf(StopWhy::kMachineFault, [](const ItemKey&) { return true; });
  GiveAllBack();
  status_at_ = TimePoint::min();  // the servers hear it at once
  Consider();
}

// What runs goes on.
void Agent::UseDevices() {
  slots_.UseDevices(devices_.health().Usable());
  GiveUnfitBack();
  status_at_ = TimePoint::min();  // the servers hear it at once
  Fill();
  Consider();
}

// What waits for more devices than are left here: other machines may have them.
void Agent::GiveUnfitBack() {
  if (devices_.shape() == options_.shape) return;
  std::set<JobId> unfit;
  for (const auto& [need, load] : work_.loads()) {
    const std::optional<Resources> each = LimitsOf(need);
    if (each && SlotsIn(devices_.whole(), *each) == 0) unfit.insert(need.job);
  }
  DropStaged([&unfit](const Attempt& attempt) { return unfit.contains(attempt.chunk.job); });
  for (const JobId job : unfit) work_.GiveBack(job);
}

std::optional<Attempt> Agent::MostOfDisk() const {
  std::int64_t sum = 0;
  Slots::DiskUse most;
  for (const Slots::DiskUse& use : slots_.DiskUses([](JobId) { return true; })) {
    sum += use.bytes;
    if (use.bytes > most.bytes && work_.Runs(use.attempt.key)) most = use;
  }
  if (most.bytes < kMuchDisk || most.bytes <= sum / 2) return std::nullopt;
  return most.attempt;
}

// --- what people are told ---

// "docker 20.10.24, runc 1.1.5".
std::string Agent::DescribeMachine() const {
  const EngineInfo& info = slots_.engine();
  std::string text = info.name;
  if (!info.runtime.empty()) text += ", " + info.runtime;
  if (slots_.down_since()) text += "; it does not answer: " + slots_.down_reason();
  if (const std::string why = health_.Reason(deps_.loop.Now()); !why.empty()) {
    text += "; it takes no items: " + why;
  }
  if (closing_) text += "; it takes no items: its cloud takes it away, or may soon";
  if (const std::string left = devices_.health().Text(); !left.empty()) text += "; " + left;
  if (const std::string open = deps_.engine.open_network(); !open.empty()) {
    text += "; its network is open: " + open;
  }
  return text.substr(0, limits::kReasonBytes);
}

std::string Agent::OpeningText(JobId job) const {
  const bool is_here = catalog_.EachOf(job) != nullptr;
  const std::string pull =
      is_here ? deps_.engine.PullState(pins_.ImageOf(job, catalog_.JobOf(job).container.image))
              : "";
  return pull.empty() ? "opening its container" : pull;
}

std::vector<JobUse> Agent::JobUses() {
  std::map<JobId, JobUse> uses;
  for (const auto& [need, load] : work_.loads()) uses[need.job].running += load.running;
  for (const auto& [job, used] : slots_.MeasureUse()) {
    uses[job].millicpus = used.millicpus;
    uses[job].memory_bytes = used.memory_bytes;
  }
  for (const auto& [job, failing] : failing_) {
    if (failing.told) uses[job].trouble = failing.reason;
  }
  for (const auto& [job, resting] : resting_) uses[job].trouble = resting.reason;
  for (const auto& [job, since] : slots_.Openings()) {
    if (deps_.loop.Now() - since > kSlowOpening) uses[job].waits_for = OpeningText(job);
  }
  for (const auto& [job, cached] : caches_) {
    if (cached.held == nullptr) uses[job].waits_for = "fetching its cache";
  }
  for (auto& [job, progress] : progress_.Newest()) uses[job].progress = std::move(progress);
  std::vector<JobUse> list;
  for (auto& [job, use] : uses) {
    use.job = job;
    list.push_back(std::move(use));
  }
  return list;
}

}  // namespace tidemill
