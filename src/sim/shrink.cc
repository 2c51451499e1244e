// SPDX-License-Identifier: Apache-2.0
#include "sim/shrink.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

#include "sim/plan_fields.h"
#include "sim/plan_json.h"

namespace tidemill {
namespace {

// Calls visit(path, value, its default) for all that is no struct of fields itself.
template <typename Struct, typename Visit>
void Walk(const std::string& path, Struct& value, Visit&& visit) {
  static const std::remove_const_t<Struct> defaults;
  EachField<std::remove_const_t<Struct>>([&](const char* name, auto member) {
    auto& field = value.*member;
    if constexpr (Listed<std::remove_cvref_t<decltype(field)>>) {
      Walk(path + name + ".", field, visit);
    } else {
      visit(path + name, field, defaults.*member);
    }
  });
}

// The chances of the played agents, which are faults too.
void MakeTruthful(Script& script) {
  Walk("", script, [](const std::string&, auto& value, const auto& standard) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>) value = standard;
  });
}

std::int64_t ItemsOf(const SimPlan& plan) {
  std::int64_t items = 0;
  for (const PlannedJob& job : plan.jobs) {
    items = std::accumulate(job.parts.begin(), job.parts.end(), items);
  }
  return items;
}

// What each slot has to do, if items take as long as they may.
Duration WorkOfASlot(const SimPlan& plan) {
  const auto cpus = [](std::int64_t millicpus) {
    return std::max<std::int64_t>(millicpus / 1000, 1);
  };
  std::int64_t slots = (plan.agents + plan.machines) * cpus(plan.script.shape.millicpus);
  for (const PlannedPool& pool : plan.pools) slots += pool.max * cpus(pool.millicpus);
  Duration work{};
  for (const PlannedJob& job : plan.jobs) {
    const int items = std::accumulate(job.parts.begin(), job.parts.end(), 0);
    work += items * std::chrono::milliseconds(job.item_ms);
  }
  return work / std::max<std::int64_t>(slots, 1);
}
// With less, all is done long before a run says that it never will be.
constexpr Duration kLittleWork = std::chrono::hours(1);

class Shrinker {
 public:
  using Play = std::function<SimOutcome(const SimPlan&)>;
  Shrinker(const SimPlan& failing, const std::string& id, const Play& play,
           const ShrinkLimits& limits)
      : failing_(failing),
        id_(id),
        play_(play),
        limits_(limits),
        end_(limits.clock() + limits.time),
        best_(failing) {}

  // What makes the largest difference first: with less work the runs after it are shorter. A plan
  // that got smaller may let go of what it needed before.
  SimPlan Run() {
    SimPlan before;
    do {
      before = best_;
      DropKindsOfFaults();
      DropWork();
      DropSingleFaults();
      DropParties();
      ResetKnobs();
    } while (best_ != before);
    return best_;
  }

 private:
  bool MayPlay() const { return runs_ < limits_.runs && limits_.clock() < end_; }

  // What a smaller plan must still be.
  bool IsSound(const SimPlan& plan) const {
    // Nobody joins with another token, other items fail with another seed, and on machines without
    // memory nothing runs.
    const Script& script = plan.script;
    const bool in_time = WorkOfASlot(plan) <= std::max(kLittleWork, WorkOfASlot(failing_));
    return in_time && IsFair(plan) && script.join_token == failing_.script.join_token &&
           script.seed == failing_.script.seed && script.shape == failing_.script.shape;
  }

  // Whether the plan changed by `change` breaks the same invariant; then it is the best one.
  template <typename Change>
  bool Try(Change change) {
    SimPlan smaller = best_;
    change(smaller);
    if (smaller == best_ || !IsSound(smaller) || !MayPlay()) return false;
    if (!tried_.insert(FormatPlan(smaller)).second) return false;
    ++runs_;
    const SimOutcome outcome = play_(smaller);
    if (outcome.verdict == SimVerdict::kGood || outcome.id != id_) return false;
    best_ = std::move(smaller);
    return true;
  }

  // Sets one value after the other back to its default. `part(plan)` is a struct of a plan.
  template <typename Part>
  void ResetEach(Part part) {
    std::size_t count = 0;
    Walk("", part(best_), [&](auto&&...) { ++count; });
    for (std::size_t i = 0; i < count; ++i) {
      Try([&](SimPlan& plan) {
        std::size_t at = 0;
        Walk("", part(plan), [&](const std::string&, auto& value, const auto& standard) {
          if (at++ == i) value = standard;
        });
      });
    }
  }

  // Drops halves of a list, then quarters, then single elements.
  template <typename List>
  void DropFrom(List list) {
    for (std::size_t step = (list(best_).size() + 1) / 2; step > 0; step /= 2) {
      for (std::size_t at = 0; at < list(best_).size();) {
        const bool dropped = Try([&](SimPlan& plan) {
          auto& all = list(plan);
          const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
          all.erase(first, first + static_cast<std::ptrdiff_t>(std::min(step, all.size() - at)));
        });
        if (!dropped) at += step;
      }
    }
  }

  // Looks for the least number that still does it, by halves. `number(plan)` refers to it.
  template <typename Number>
  void Lower(Number number, std::remove_reference_t<std::invoke_result_t<Number, SimPlan&>> least,
             std::remove_reference_t<std::invoke_result_t<Number, SimPlan&>> grain) {
    auto high = number(best_);
    if (high <= least) return;
    if (Try([&](SimPlan& plan) { number(plan) = least; })) return;
    auto low = least;
    while (high - low > grain && MayPlay()) {
      const auto middle = low + (high - low) / 2;
      if (Try([&](SimPlan& plan) { number(plan) = middle; })) {
        high = middle;
      } else {
        low = middle;
      }
    }
  }

  void DropKindsOfFaults() {
    Try([](SimPlan& plan) {
      plan.faults = {};
      MakeTruthful(plan.script);
    });
    Try([](SimPlan& plan) { plan.faults.store = {}; });
    Try([](SimPlan& plan) { plan.faults.network = {}; });
    Try([](SimPlan& plan) { plan.faults.machine = {}; });
    Try([](SimPlan& plan) { plan.faults.cloud = {}; });
    Try([](SimPlan& plan) { plan.faults.objects = {}; });
    Try([](SimPlan& plan) { MakeTruthful(plan.script); });
  }

  void DropSingleFaults() {
    ResetEach([](SimPlan& plan) -> Faults& { return plan.faults; });
    ResetEach([](SimPlan& plan) -> Script& { return plan.script; });
  }

  void DropWork() {
    DropFrom([](SimPlan& plan) -> auto& { return plan.jobs; });
    for (std::size_t i = 0; i < best_.jobs.size(); ++i) {
      DropFrom([i](SimPlan& plan) -> auto& { return plan.jobs[i].parts; });
    }
    const auto halve = [](SimPlan& plan) {
      for (PlannedJob& job : plan.jobs) {
        for (int& items : job.parts) items = (items + 1) / 2;
      }
    };
    while (Try(halve)) {
    }
    for (std::size_t i = 0; i < best_.jobs.size(); ++i) {
      for (std::size_t k = 0; k < best_.jobs[i].parts.size(); ++k) {
        Lower([i, k](SimPlan& plan) -> int& { return plan.jobs[i].parts[k]; }, 1, 1);
      }
    }
  }

  void DropParties() {
    DropFrom([](SimPlan& plan) -> auto& { return plan.pools; });
    for (std::size_t i = 0; i < best_.pools.size(); ++i) {
      Lower([i](SimPlan& plan) -> std::int64_t& { return plan.pools[i].max; }, 1, 1);
    }
    Lower([](SimPlan& plan) -> int& { return plan.machines; }, 0, 1);
    Lower([](SimPlan& plan) -> int& { return plan.agents; }, 0, 1);
    Lower([](SimPlan& plan) -> int& { return plan.servers; }, 1, 1);
    Lower([](SimPlan& plan) -> Duration& { return plan.chaos; }, std::chrono::seconds(0),
          std::chrono::seconds(1));
  }

  void ResetKnobs() {
    Try([](SimPlan& plan) {
      plan.limits = {};
      plan.script.session_life = Script().session_life;
      plan.script.heartbeat = Script().heartbeat;
    });
    Try([](SimPlan& plan) {
      plan.limits.session_life = ServerLimits().session_life;
      plan.script.session_life = Script().session_life;
      plan.script.heartbeat = Script().heartbeat;
    });
    ResetEach([](SimPlan& plan) -> ServerLimits& { return plan.limits; });
    for (std::size_t i = 0; i < best_.jobs.size(); ++i) {
      Try([i](SimPlan& plan) {
        PlannedJob job;
        job.parts = std::move(plan.jobs[i].parts);
        plan.jobs[i] = std::move(job);
      });
      Try([i](SimPlan& plan) { plan.jobs[i].memory_bytes = plan.jobs[i].memory_max = 0; });
      ResetEach([i](SimPlan& plan) -> PlannedJob& { return plan.jobs[i]; });
    }
    for (std::size_t i = 0; i < best_.pools.size(); ++i) {
      ResetEach([i](SimPlan& plan) -> PlannedPool& { return plan.pools[i]; });
    }
  }

  const SimPlan& failing_;
  const std::string& id_;
  const Play& play_;
  const ShrinkLimits& limits_;
  const TimePoint end_;
  SimPlan best_;
  int runs_ = 0;
  std::set<std::string> tried_;  // one a run at most
};

}  // namespace

bool IsFair(const SimPlan& plan) {
  const bool has_work = !plan.jobs.empty() &&
                        std::all_of(plan.jobs.begin(), plan.jobs.end(), [](const PlannedJob& job) {
                          return !job.parts.empty() && job.memory_max >= job.memory_bytes &&
                                 (job.memory_bytes > 0) == (job.memory_max > 0);
                        });
  const bool has_pools =
      std::all_of(plan.pools.begin(), plan.pools.end(),
                  [](const PlannedPool& pool) { return pool.max > 0 && pool.min <= pool.max; });
  const bool has_machines = plan.agents + plan.machines > 0 || !plan.pools.empty();
  // Else an agent that does all right is taken for a dead one.
  const bool is_heard = plan.script.session_life == plan.limits.session_life &&
                        plan.script.heartbeat * 2 <= plan.limits.session_life;
  return plan.servers > 0 && has_work && has_pools && has_machines && is_heard;
}

SimPlan Shrink(const SimPlan& failing, const std::string& id,
               const std::function<SimOutcome(const SimPlan&)>& play, const ShrinkLimits& limits) {
  return Shrinker(failing, id, play, limits).Run();
}

std::string DescribeShrink(const SimPlan& before, const SimPlan& after) {
  std::string out;
  const auto number = [&](const char* name, std::int64_t was, std::int64_t is) {
    if (was == is) return;
    if (!out.empty()) out += ", ";
    out.append(name).append(" ").append(std::to_string(was));
    out.append(" -> ").append(std::to_string(is));
  };
  const auto size = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  const auto seconds = [](Duration time) {
    return std::chrono::round<std::chrono::seconds>(time).count();
  };
  number("servers", before.servers, after.servers);
  number("agents", before.agents, after.agents);
  number("machines", before.machines, after.machines);
  number("pools", size(before.pools), size(after.pools));
  number("jobs", size(before.jobs), size(after.jobs));
  number("items", ItemsOf(before), ItemsOf(after));
  number("seconds of faults", seconds(before.chaos), seconds(after.chaos));
  if (out.empty()) out = "no fewer parties";

  std::string left;
  const auto name = [&](const std::string& path, const auto& value, const auto& standard) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>) {
      if (value != standard) left.append(left.empty() ? "" : ", ").append(path);
    }
  };
  Walk("", after.faults, name);
  Walk("script.", after.script, name);
  return out + "; faults left: " + (left.empty() ? "none" : left);
}

}  // namespace tidemill
