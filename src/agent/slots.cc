// SPDX-License-Identifier: Apache-2.0
#include "agent/slots.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/device_variables.h"
#include "agent/slot.h"
#include "base/check.h"

namespace tidemill {

Slots::Slots(const AgentDeps& deps, const AgentOptions& options, ImagePins& pins,
             SlotEvents& events)
    : deps_(deps),
      options_(options),
      pins_(pins),
      events_(events),
      room_(options.shape, options.devices),
      last_stream_(static_cast<std::uint64_t>(options.run) << 32) {}

Slots::~Slots() = default;

void Slots::Start() {
  asking_ = true;
  Recover();
}

void Slots::Recover() {
  deps_.engine.Recover([this, alive = std::weak_ptr<char>(alive_)](const Result<EngineInfo>& info) {
    if (!alive.expired()) Recovered(info);
  });
}

void Slots::Recovered(const Result<EngineInfo>& info) {
  asking_ = false;
  if (!info) {
    down_reason_ = info.error().reason;
    if (!down_since_) {
      down_since_ = deps_.loop.Now();
      deps_.log.Warn("engine.down", {{"reason", info.error().reason}});
    }
    return TryAgainLater();
  }
  if (down_since_) deps_.log.Info("engine.up", {{"engine", info->name}});
  info_ = *info;
  for (const FoundContainer& found : std::exchange(info_.found, {})) Keep(found);
  started_ = up_ = true;
  failures_ = 0;
  down_since_.reset();
  events_.OnRoom();
}

void Slots::TryAgainLater() {
  up_ = false;
  if (std::exchange(asking_, true)) return;
  deps_.loop.After(RetryDelay(failures_++), [this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) Recover();
  });
}

Duration Slots::RetryDelay(int failures) const {
  return std::min(options_.limits.first_retry * (1 << std::min(failures, 10)),
                  options_.limits.longest_retry);
}

// It may be the engine or only the job's image: the engine is asked, and the job waits. Other jobs
// go on.
void Slots::NoteFailure(JobId job) {
  OpenRetry& retry = retries_[job];
  const Duration delay = RetryDelay(retry.failures++);
  retry.at = deps_.loop.Now() + delay;
  deps_.loop.After(delay, [this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) events_.OnRoom();
  });
  if (!std::exchange(asking_, true)) Recover();
}

int Slots::SlotsOf(const Need& need) const {
  const std::vector<Slot*> used = InLimit(need.job);
  return static_cast<int>(std::count_if(used.begin(), used.end(), [&need](const Slot* slot) {
    return slot->need() == need && !slot->retired;
  }));
}

std::optional<std::int64_t> Slots::LimitOf(JobId job) const {
  const auto found = limits_.find(job);
  return found == limits_.end() ? std::nullopt : std::optional(found->second);
}

int Slots::BusyOf(const Need& need) const {
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [&need](const auto& slot) {
    return slot->need() == need && !slot->runs.empty();
  }));
}

// Those that have runs come first, so that no other begins one while they are as many as may be.
std::vector<Slots::Slot*> Slots::InLimit(JobId job) const {
  std::vector<Slot*> slots;
  for (const auto& slot : slots_) {
    const bool is_used = !slot->retired || !slot->runs.empty();
    if (slot->spec.job == job && is_used) slots.push_back(slot.get());
  }
  const auto limit = static_cast<std::size_t>(LimitOf(job).value_or(std::ssize(slots)));
  if (slots.size() <= limit) return slots;
  std::stable_partition(slots.begin(), slots.end(),
                        [](const Slot* slot) { return !slot->runs.empty(); });
  slots.resize(limit);
  return slots;
}

bool Slots::IsBeyondLimit(const Slot& slot) const {
  const std::vector<Slot*> used = InLimit(slot.spec.job);
  return std::find(used.begin(), used.end(), &slot) == used.end();
}

bool Slots::MakeWayInLimit(JobId job, const IsNeeded& is_needed) {
  const std::optional<std::int64_t> limit = LimitOf(job);
  if (!limit) return true;
  const auto is_its = [job](const auto& slot) { return slot->spec.job == job && !slot->retired; };
  if (std::count_if(slots_.begin(), slots_.end(), is_its) < *limit) return true;
  const auto spare = std::find_if(slots_.begin(), slots_.end(), [&](const auto& slot) {
    return is_its(slot) && slot->container && slot->runs.empty() && !is_needed(slot->need());
  });
  if (*limit == 0 || spare == slots_.end()) return false;
  if ((*spare)->spec.loop) {
    LetGo(**spare);
    return false;  // when it is gone
  }
  Close(spare->get());
  return true;
}

bool Slots::HasOpen(JobId job) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [job](const auto& slot) { return slot->spec.job == job && slot->container; });
}

std::map<JobId, Resources> Slots::MeasureUse() {
  std::map<JobId, Resources> uses;
  const TimePoint now = deps_.loop.Now();
  for (const auto& slot : slots_) {
    if (!slot->container) continue;
    const ContainerUse use = slot->container->Use();
    const Duration passed = std::max(now - slot->measured_at, Duration(1));
    // A process that has ended takes its time away with it until its parent has waited for it.
    const Duration cpu = std::max(use.cpu - slot->measured_cpu, Duration::zero());
    Resources& sum = uses.try_emplace(slot->spec.job, Resources{0, 0}).first->second;
    sum.millicpus += cpu * 1000 / passed;
    sum.memory_bytes += use.memory_bytes;
    slot->measured_at = now;
    slot->measured_cpu = use.cpu;
  }
  return uses;
}

Slots::Slot* Slots::FewestRuns(const Need& need, int depth, bool alone) const {
  Slot* best = nullptr;
  for (Slot* slot : InLimit(need.job)) {
    if (slot->need() != need || !slot->Takes(depth, alone)) continue;
    if (best == nullptr || slot->runs.size() < best->runs.size()) best = slot;
  }
  return best;
}

bool Slots::HasPlace(const Need& need, int depth, bool alone) const {
  return FewestRuns(need, depth, alone) != nullptr;
}

void Slots::Run(const Attempt& attempt, const Need& need, int depth, ItemRun run) {
  Slot* slot = FewestRuns(need, depth, attempt.alone);
  TIDEMILL_CHECK(slot != nullptr);
  run.number = ++last_run_;
  if (!slot->spec.loop) TellDevices(*slot, run.env);  // a loop's program has heard of them
  slot->used = true;
  slot->runs.push_back({run.number, attempt});
  slot->runs.back().attempt.devices = slot->devices;
  slot->container->Run(std::move(run));
}

void Slots::StopIf(StopWhy why, const std::function<bool(const ItemKey&)>& is_over) {
  for (const auto& slot : slots_) {
    for (Slot::Given& given : slot->runs) {
      if (given.stopped != StopWhy::kNone || !is_over(given.attempt.key)) continue;
      given.stopped = why;
      given.waited = {};
      slot->container->Stop(given.number);
    }
  }
}

void Slots::StopWaiting(StopWhy why) {
  for (const auto& slot : slots_) {
    if (!slot->spec.loop) StopWaiting(*slot, why);
  }
}

void Slots::StopWaiting(Slot& slot, StopWhy why) {
  for (std::size_t i = 1; i < slot.runs.size(); ++i) {
    Slot::Given& given = slot.runs[i];
    if (given.stopped != StopWhy::kNone) continue;
    given.stopped = why;
    given.waited = {};
    slot.container->Stop(given.number);
  }
}

void Slots::Retire(const ItemKey& key, StopWhy why) {
  for (const auto& slot : slots_) {
    const bool is_here = std::any_of(slot->runs.begin(), slot->runs.end(),
                                     [&key](const auto& one) { return one.attempt.key == key; });
    if (!is_here) continue;
    slot->retired = true;
    for (Slot::Given& given : slot->runs) {
      if (given.stopped != StopWhy::kNone) continue;
      given.stopped = given.attempt.key == key ? why : StopWhy::kMoved;
      given.waited = {};
      slot->container->Stop(given.number);
    }
  }
}

std::vector<Slots::DiskUse> Slots::DiskUses(const std::function<bool(JobId)>& is_asked) const {
  std::vector<DiskUse> uses;
  for (const auto& slot : slots_) {
    if (slot->runs.empty() || !is_asked(slot->spec.job)) continue;
    if (slot->retired && slot->runs.front().stopped != StopWhy::kNone) continue;
    uses.push_back({slot->runs.front().attempt, slot->container->Use().disk_bytes});
  }
  return uses;
}

std::map<JobId, TimePoint> Slots::Openings() const {
  std::map<JobId, TimePoint> openings;
  for (const auto& slot : slots_) {
    if (slot->container || HasOpen(slot->spec.job)) continue;
    const auto [found, fresh] = openings.try_emplace(slot->spec.job, slot->asked_at);
    if (!fresh) found->second = std::min(found->second, slot->asked_at);
  }
  return openings;
}

std::optional<Room::Share> Slots::MakeRoom(const Resources& limits, const IsNeeded& is_needed) {
  while (!room_.Fits(limits)) {
    const auto spare = std::find_if(slots_.begin(), slots_.end(), [&](const auto& slot) {
      return slot->container && slot->runs.empty() && !slot->retired &&
             (IsBeyondLimit(*slot) || !is_needed(slot->need()));
    });
    if (spare == slots_.end()) return std::nullopt;
    if ((*spare)->spec.loop) {
      LetGo(**spare);
      return std::nullopt;  // there will be room when it is gone
    }
    Close(spare->get());
  }
  return room_.Take(limits);
}

void Slots::Want(JobId job, const Resources& limits, int count, const std::function<Wish()>& make,
                 const IsNeeded& is_needed) {
  const auto retry = retries_.find(job);
  if (retry != retries_.end() && deps_.loop.Now() < retry->second.at) return;
  for (int have = SlotsOf({job, limits.memory_bytes}); have < count; ++have) {
    if (!up_ || opening_ >= options_.limits.opening_at_once) return;
    // The first one may have to wait for an image; the others of the job must not fill the places
    // of other jobs meanwhile.
    if (have > 0 && !HasOpen(job)) return;
    if (!MakeWayInLimit(job, is_needed)) return;
    std::optional<Room::Share> share = MakeRoom(limits, is_needed);
    if (!share) return;
    Open(make(), *std::move(share));
  }
}

void Slots::Open(Wish wish, Room::Share share) {
  wish.spec.policy = policy_;
  wish.spec.limits = share.limits;
  for (const MachineDevice& device : room_.DevicesOf(share)) {
    wish.spec.devices.push_back(device.path);
  }
  ContainerSpec asked = wish.spec;
  wish.spec.login.reset();  // the slot lives longer than it is needed
  auto made = std::make_unique<Slot>(*this, std::move(wish), std::move(share));
  Slot* slot = slots_.emplace_back(std::move(made)).get();
  slot->asked_at = deps_.loop.Now();
  ++opening_;
  pins_.Pin(std::move(asked),
            [this, slot, alive = std::weak_ptr<char>(alive_)](const Result<ContainerSpec>& spec) {
              if (!alive.expired()) OpenPinned(slot, spec);
            });
}

void Slots::OpenPinned(Slot* slot, const Result<ContainerSpec>& spec) {
  if (!spec) return Opened(slot, tl::unexpected(spec.error()));
  deps_.engine.Open(*spec, *slot,
                    [this, slot, alive = std::weak_ptr<char>(alive_)](
                        Result<std::unique_ptr<Container>> container) {
                      if (!alive.expired()) Opened(slot, std::move(container));
                    });
}

void Slots::Opened(Slot* slot, Result<std::unique_ptr<Container>> container) {
  --opening_;
  if (container) {
    retries_.erase(slot->spec.job);
    slot->container = *std::move(container);
    slot->idle_since = slot->measured_at = deps_.loop.Now();
    if (slot->unwanted) {
      Close(slot);
      return events_.OnRoom();
    }
    TellRole(*slot);
    if (slot->spec.loop) {
      TellDevices(*slot, slot->program.env);
      slot->container->Load(std::move(slot->program));
    }
    return events_.OnOpened(slot->spec.job);
  }
  const JobId job = slot->spec.job;
  Close(slot);
  if (container.error().code != Code::kInvalid) NoteFailure(job);
  events_.OnOpenFailed(job, container.error());
  events_.OnRoom();
}

void Slots::TellDevices(const Slot& slot, std::vector<std::string>& env) const {
  if (slot.share.devices.empty()) return;
  SetDeviceVariables(room_.DevicesOf(slot.share), deps_.engine.mounts(), env);
}

void Slots::UseDevices(const std::vector<bool>& usable) {
  room_.Use(usable);
  for (const auto& slot : slots_) {
    const std::vector<std::size_t>& devices = slot->share.devices;
    const bool is_well = std::all_of(devices.begin(), devices.end(),
                                     [&usable](std::size_t device) { return usable[device]; });
    if (is_well || slot->retired) continue;
    slot->retired = true;
    slot->unwanted |= !slot->container && !slot->left;
    if (!slot->spec.loop) StopWaiting(*slot, StopWhy::kMoved);
    if (slot->spec.loop && slot->container && slot->runs.empty()) LetGo(*slot);
  }
  std::erase_if(slots_, [](const auto& slot) {
    return slot->retired && slot->container && slot->runs.empty() && !slot->spec.loop;
  });
}

void Slots::TellRole(Slot& slot) {
  if (!slot.container || slot.secrets == nullptr || !slot.secrets->role()) return;
  slot.container->UseRole(slot.secrets->role()->document);
}

void Slots::UseRole(JobId job, const std::shared_ptr<const JobSecrets>& secrets) {
  for (const auto& slot : slots_) {
    if (slot->spec.job != job || slot->secrets == secrets) continue;
    slot->secrets = secrets;
    TellRole(*slot);
  }
}

void Slots::Close(Slot* slot) {
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [slot](const auto& one) { return one.get() == slot; });
  TIDEMILL_CHECK(found != slots_.end());
  slots_.erase(found);
}

// A loop's program hears that no more will come, and has its grace to end.
void Slots::LetGo(Slot& slot) {
  slot.retired = true;
  slot.idle_since = deps_.loop.Now() + slot.grace;
  slot.container->NoMore();
}

void Slots::CloseIdle() {
  const TimePoint before = deps_.loop.Now() - options_.limits.idle_container;
  const auto is_idle = [before](const auto& slot) {
    return slot->container && slot->runs.empty() && slot->idle_since <= before;
  };
  std::erase_if(slots_, [&is_idle](const auto& slot) {
    return is_idle(slot) && (!slot->spec.loop || slot->retired);
  });
  for (const auto& slot : slots_) {
    if (is_idle(slot)) LetGo(*slot);
  }
  // Of a job that is over, or was not tried for long.
  std::erase_if(retries_, [before](const auto& entry) { return entry.second.at <= before; });
}

std::vector<Slots::Begun> Slots::CloseAll() {
  std::vector<Begun> begun;
  for (const auto& slot : slots_) {
    slot->unwanted = true;
    // Of a loop that was told to stop, only those that its program holds are left.
    for (const Slot::Given& given : slot->runs) {
      const bool has_begun = slot->spec.loop || &given == &slot->runs.front();
      if (has_begun && given.ours) begun.push_back({given.attempt, given.ran});
    }
  }
  std::erase_if(slots_, [](const auto& slot) { return slot->container || slot->left; });
  return begun;
}

bool Slots::busy() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const auto& slot) { return !slot->runs.empty(); });
}

}  // namespace tidemill
