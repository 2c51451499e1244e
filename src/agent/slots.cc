// SPDX-License-Identifier: Apache-2.0
#include "agent/slots.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tidemill {

// One container, from the wish for it to its end.
//
//   opening ──▶ open ──gone, or closed──▶ (erased)
struct Slots::Slot : ContainerEvents {
  struct Given {
    std::uint64_t number = 0;
    Attempt attempt;
    StopWhy stopped = StopWhy::kNone;
  };

  Slot(Slots& a_slots, Wish&& wish, Room::Share a_share)
      : slots(a_slots),
        spec(std::move(wish.spec)),
        once(wish.once),
        share(std::move(a_share)),
        program(std::move(wish.program)) {}
  ~Slot() override { slots.room_.Return(share); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  Need need() const { return {spec.job, spec.limits.memory_bytes}; }

  // Their numbers rise. But for a loop, only the first can have something to say.
  std::deque<Given>::iterator Find(std::uint64_t number) {
    const auto found =
        std::lower_bound(runs.begin(), runs.end(), number,
                         [](const Given& one, std::uint64_t n) { return one.number < n; });
    const bool speaks =
        found != runs.end() && found->number == number && (spec.loop || found == runs.begin());
    return speaks ? found : runs.end();
  }

  // Whether one more may be given to it.
  bool Takes(int depth, bool alone) const {
    if (!container || !container->usable() || retired || (once && used)) return false;
    if (alone) return runs.empty();
    if (runs.size() >= static_cast<std::size_t>(depth)) return false;
    return runs.empty() || !runs.front().attempt.alone;
  }

  void OnLog(std::uint64_t number, std::string_view bytes) override {
    const auto found = Find(number);
    if (found != runs.end()) slots.events_.OnItemLog(found->attempt, bytes);
  }

  void OnProgress(std::uint64_t number, std::int32_t permille, std::string_view note) override {
    const auto found = Find(number);
    if (found != runs.end()) slots.events_.OnItemProgress(found->attempt, permille, note);
  }

  void OnEnd(const ItemEnd& end) override {
    const auto found = Find(end.number);
    TIDEMILL_CHECK(found != runs.end());
    const Given given = std::move(*found);
    runs.erase(found);
    if (runs.empty()) idle_since = slots.deps_.loop.Now();
    Slots& owner = slots;
    if (once || (retired && runs.empty())) owner.Close(this);  // destroys it
    owner.events_.OnItemEnd(given.attempt, end, given.stopped);
  }

  void OnGone(const std::string& why) override {
    std::vector<Attempt> lost;
    for (const Given& given : runs) lost.push_back(given.attempt);
    // Close destroys this slot and its container.
    Slots& owner = slots;
    const std::string reason = why;
    const bool was_let_go = retired && lost.empty();
    if (!was_let_go)
      owner.deps_.log.Warn("container.gone", {{"job", spec.job.number},
                                              {"runs", static_cast<std::int64_t>(lost.size())},
                                              {"reason", reason}});
    owner.Close(this);
    if (!lost.empty()) owner.events_.OnItemsLost(lost, reason);
    owner.events_.OnRoom();
  }

  Slots& slots;
  const ContainerSpec spec;
  bool once;
  const Room::Share share;
  ItemRun program;  // of a loop, until it is open
  Duration grace = program.grace;
  std::optional<FoundContainer> left;    // until it is adopted
  std::unique_ptr<Container> container;  // null while it is being opened
  // The first one runs, the others wait in the container; of a loop, any of them may run.
  std::deque<Given> runs;
  bool used = false;      // has had a run
  bool unwanted = false;  // to be closed as soon as it is open
  bool retired = false;   // gets nothing more
  TimePoint asked_at{};
  TimePoint idle_since{};
  TimePoint measured_at{};
  Duration measured_cpu{};
};

Slots::Slots(const AgentDeps& deps, const AgentOptions& options, SlotEvents& events)
    : deps_(deps), options_(options), events_(events), room_(options.shape, options.devices) {}

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
  down_since_.reset();
  events_.OnRoom();
}

void Slots::TryAgainLater() {
  up_ = false;
  if (std::exchange(asking_, true)) return;
  const Duration delay = std::min(options_.limits.first_retry * (1 << std::min(failures_++, 10)),
                                  options_.limits.longest_retry);
  deps_.loop.After(delay, [this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) Recover();
  });
}

int Slots::SlotsOf(const Need& need) const {
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [&need](const auto& slot) {
    return slot->need() == need && !slot->retired;
  }));
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
  for (const auto& slot : slots_) {
    if (slot->need() != need || !slot->Takes(depth, alone)) continue;
    if (best == nullptr || slot->runs.size() < best->runs.size()) best = slot.get();
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
  slot->used = true;
  slot->runs.push_back({run.number, attempt});
  slot->container->Run(std::move(run));
}

void Slots::StopIf(StopWhy why, const std::function<bool(const ItemKey&)>& is_over) {
  for (const auto& slot : slots_) {
    for (Slot::Given& given : slot->runs) {
      if (given.stopped != StopWhy::kNone || !is_over(given.attempt.key)) continue;
      given.stopped = why;
      slot->container->Stop(given.number);
    }
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
      slot->container->Stop(given.number);
    }
  }
}

std::vector<Slots::DiskUse> Slots::DiskUses(const std::function<bool(JobId)>& is_asked) const {
  std::vector<DiskUse> uses;
  for (const auto& slot : slots_) {
    if (slot->runs.empty() || slot->retired || !is_asked(slot->spec.job)) continue;
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
      return slot->container && slot->runs.empty() && !slot->retired && !is_needed(slot->need());
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
  for (int have = SlotsOf({job, limits.memory_bytes}); have < count; ++have) {
    if (!up_ || opening_ >= options_.limits.opening_at_once) return;
    // The first one may have to wait for an image; the others of the job must not fill the places
    // of other jobs meanwhile.
    if (have > 0 && !HasOpen(job)) return;
    std::optional<Room::Share> share = MakeRoom(limits, is_needed);
    if (!share) return;
    Open(make(), *std::move(share));
  }
}

void Slots::Open(Wish wish, Room::Share share) {
  wish.spec.policy = policy_;
  wish.spec.limits = share.limits;
  wish.spec.devices = room_.PathsOf(share);
  auto made = std::make_unique<Slot>(*this, std::move(wish), std::move(share));
  Slot* slot = slots_.emplace_back(std::move(made)).get();
  slot->asked_at = deps_.loop.Now();
  ++opening_;
  deps_.engine.Open(slot->spec, *slot,
                    [this, slot, alive = std::weak_ptr<char>(alive_)](
                        Result<std::unique_ptr<Container>> container) {
                      if (!alive.expired()) Opened(slot, std::move(container));
                    });
}

void Slots::Opened(Slot* slot, Result<std::unique_ptr<Container>> container) {
  --opening_;
  if (container) {
    failures_ = 0;
    slot->container = *std::move(container);
    slot->idle_since = slot->measured_at = deps_.loop.Now();
    if (slot->unwanted) {
      Close(slot);
      return events_.OnRoom();
    }
    if (slot->spec.loop) slot->container->Load(std::move(slot->program));
    return events_.OnOpened(slot->spec.job);
  }
  const JobId job = slot->spec.job;
  Close(slot);
  if (container.error().code != Code::kInvalid) TryAgainLater();
  events_.OnOpenFailed(job, container.error());
  events_.OnRoom();
}

void Slots::Close(Slot* slot) {
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [slot](const auto& one) { return one.get() == slot; });
  TIDEMILL_CHECK(found != slots_.end());
  slots_.erase(found);
}

// One that has no room any more ends: the machine has become smaller.
void Slots::Keep(const FoundContainer& found) {
  for (const FoundContainer::Run& run : found.runs) last_run_ = std::max(last_run_, run.number);
  std::optional<Room::Share> share = room_.TakeThese(found.spec.limits, found.spec.devices);
  if (!share) return;
  auto slot = std::make_unique<Slot>(*this, Wish{found.spec, false, {}}, *std::move(share));
  slot->left = found;
  slot->asked_at = deps_.loop.Now();
  slots_.push_back(std::move(slot));
}

void Slots::Adopt(const Adoption& adoption) {
  std::erase_if(slots_, [&](const auto& slot) {
    if (!slot->left) return false;
    const Found found = adoption.decide(slot->spec.job);
    if (found == Found::kWait) return false;
    return found == Found::kEnd || !AdoptOne(*slot, adoption);
  });
}

bool Slots::AdoptOne(Slot& slot, const Adoption& adoption) {
  bool any = false;
  for (const FoundContainer::Run& run : slot.left->runs) {
    const std::optional<Attempt> attempt = adoption.resume(run.tag);
    any |= attempt.has_value();
    slot.runs.push_back(
        {run.number, attempt.value_or(Attempt()), attempt ? StopWhy::kNone : StopWhy::kLeaseGone});
  }
  if (!any) return false;
  std::sort(slot.runs.begin(), slot.runs.end(),
            [](const Slot::Given& a, const Slot::Given& b) { return a.number < b.number; });
  const Wish wish = adoption.make(slot.need());
  slot.once = wish.once;
  slot.grace = wish.program.grace;
  slot.used = true;
  slot.idle_since = slot.measured_at = deps_.loop.Now();
  const FoundContainer found = *std::exchange(slot.left, std::nullopt);
  slot.container = found.adopt(slot);
  deps_.log.Info("container.adopted", {{"job", slot.spec.job.number},
                                       {"runs", static_cast<std::int64_t>(slot.runs.size())}});
  for (const Slot::Given& given : slot.runs) {
    if (given.stopped != StopWhy::kNone) slot.container->Stop(given.number);
  }
  return true;
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
}

std::vector<Attempt> Slots::CloseAll() {
  std::vector<Attempt> begun;
  for (const auto& slot : slots_) {
    slot->unwanted = true;
    // Of a loop that was told to stop, only those that its program holds are left.
    for (const Slot::Given& given : slot->runs) {
      if (slot->spec.loop || &given == &slot->runs.front()) begun.push_back(given.attempt);
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
