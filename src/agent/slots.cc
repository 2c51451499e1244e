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
    bool stopped = false;
  };

  Slot(Slots& a_slots, const ContainerSpec& a_spec) : slots(a_slots), spec(a_spec) {}

  void OnLog(std::uint64_t number, std::string_view bytes) override {
    if (!runs.empty() && runs.front().number == number) {
      slots.events_.OnItemLog(runs.front().attempt, bytes);
    }
  }

  void OnEnd(const ItemEnd& end) override {
    TIDEMILL_CHECK(!runs.empty() && runs.front().number == end.number);
    const Attempt attempt = runs.front().attempt;
    runs.pop_front();
    if (runs.empty()) idle_since = slots.deps_.loop.Now();
    slots.events_.OnItemEnd(attempt, end);
  }

  void OnGone(const std::string& why) override {
    std::vector<Attempt> lost;
    for (const Given& given : runs) lost.push_back(given.attempt);
    // Close destroys this slot and its container.
    Slots& owner = slots;
    const std::string reason = why;
    owner.deps_.log.Warn("container.gone", {{"job", spec.job.number},
                                            {"runs", static_cast<std::int64_t>(lost.size())},
                                            {"reason", reason}});
    owner.Close(this);
    if (!lost.empty()) owner.events_.OnItemsLost(lost, reason);
    owner.events_.OnRoom();
  }

  Slots& slots;
  const ContainerSpec spec;
  std::unique_ptr<Container> container;  // null while it is being opened
  std::deque<Given> runs;                // the first one runs, the others wait in the container
  TimePoint idle_since{};
  TimePoint measured_at{};
  Duration measured_cpu{};
};

Slots::Slots(const AgentDeps& deps, const AgentOptions& options, SlotEvents& events)
    : deps_(deps), options_(options), events_(events) {}

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
    if (!down_since_) {
      down_since_ = deps_.loop.Now();
      deps_.log.Warn("engine.down", {{"reason", info.error().reason}});
    }
    return TryAgainLater();
  }
  if (down_since_) deps_.log.Info("engine.up", {{"engine", info->name}});
  info_ = *info;
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

Resources Slots::Free() const {
  Resources free = options_.shape;
  for (const auto& slot : slots_) {
    free.millicpus -= slot->spec.limits.millicpus;
    free.memory_bytes -= slot->spec.limits.memory_bytes;
  }
  return free;
}

int Slots::SlotsOf(JobId job) const {
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(),
                                        [job](const auto& slot) { return slot->spec.job == job; }));
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

Slots::Slot* Slots::FewestRuns(JobId job, int depth) const {
  Slot* best = nullptr;
  for (const auto& slot : slots_) {
    if (slot->spec.job != job || !slot->container || !slot->container->usable()) continue;
    if (slot->runs.size() >= static_cast<std::size_t>(depth)) continue;
    if (best == nullptr || slot->runs.size() < best->runs.size()) best = slot.get();
  }
  return best;
}

bool Slots::HasPlace(JobId job, int depth) const { return FewestRuns(job, depth) != nullptr; }

void Slots::Run(const Attempt& attempt, int depth, ItemRun run) {
  Slot* slot = FewestRuns(attempt.chunk.job, depth);
  TIDEMILL_CHECK(slot != nullptr);
  run.number = ++last_run_;
  slot->runs.push_back({run.number, attempt});
  slot->container->Run(std::move(run));
}

void Slots::StopIf(const std::function<bool(const ItemKey&)>& is_over) {
  for (const auto& slot : slots_) {
    for (Slot::Given& given : slot->runs) {
      if (given.stopped || !is_over(given.attempt.key)) continue;
      given.stopped = true;
      slot->container->Stop(given.number);
    }
  }
}

bool Slots::MakeRoom(const Resources& each, const std::function<bool(JobId)>& is_needed) {
  while (SlotsIn(Free(), each) < 1) {
    const auto spare = std::find_if(slots_.begin(), slots_.end(), [&](const auto& slot) {
      return slot->container && slot->runs.empty() && !is_needed(slot->spec.job);
    });
    if (spare == slots_.end()) return false;
    Close(spare->get());
  }
  return true;
}

void Slots::Want(const ContainerSpec& spec, int count,
                 const std::function<bool(JobId)>& is_needed) {
  for (int have = SlotsOf(spec.job); have < count; ++have) {
    if (!up_ || opening_ >= options_.limits.opening_at_once) return;
    // The first one may have to wait for an image; the others of the job must not fill the places
    // of other jobs meanwhile.
    if (have > 0 && !HasOpen(spec.job)) return;
    if (!MakeRoom(spec.limits, is_needed)) return;
    Open(spec);
  }
}

void Slots::Open(ContainerSpec spec) {
  spec.policy = policy_;
  Slot* slot = slots_.emplace_back(std::make_unique<Slot>(*this, spec)).get();
  ++opening_;
  deps_.engine.Open(spec, *slot,
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

void Slots::CloseIdle() {
  const TimePoint before = deps_.loop.Now() - options_.limits.idle_container;
  std::erase_if(slots_, [before](const auto& slot) {
    return slot->container && slot->runs.empty() && slot->idle_since <= before;
  });
}

void Slots::CloseAll() {
  std::erase_if(slots_, [](const auto& slot) { return slot->container != nullptr; });
}

}  // namespace tidemill
