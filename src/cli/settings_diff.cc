// SPDX-License-Identifier: Apache-2.0
#include "cli/settings_diff.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/console.h"
#include "cli/format.h"
#include "cli/projects.h"

namespace tidemill::cli {
namespace {

using Kind = SettingsChange::Kind;

struct Field {
  const char* name;
  std::string text;
};

std::string YesNo(bool flag) { return flag ? "yes" : "no"; }

std::string OrDash(std::string text) { return text.empty() ? "-" : std::move(text); }

std::string SettingTimeText(Duration time) {
  return DurationText(time / std::chrono::milliseconds(1));
}

std::string PriceText(Money price) { return "$" + DollarsText(price) + " an hour"; }

std::string LabelsText(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out.append(out.empty() ? "" : ", ").append(name).append("=").append(Printable(value));
  }
  return OrDash(std::move(out));
}

std::string LadderText(const Steps& steps) {
  std::string out;
  for (const auto& [items, machines] : steps) {
    out.append(out.empty() ? "" : ", ").append(Thousands(items)).append(": ");
    out.append(Thousands(machines));
  }
  return OrDash(std::move(out));
}

std::vector<Field> FieldsOf(const ContainerPolicy& policy) {
  return {{"policy", DemandsText(policy)}, {"volumes", VolumesText(policy.volumes)}};
}

std::vector<Field> FieldsOf(const PoolMachines& machines) {
  return {
      {"provider", OrDash(machines.provider)},
      {"shape", ShapeText(machines.shape)},
      {"spot", YesNo(machines.spot)},
      {"price", PriceText(machines.price)},
      {"on_demand", PriceText(machines.on_demand)},
      {"min", Thousands(machines.min)},
      {"max", Thousands(machines.max)},
      {"unit", std::string(SizeUnitName(machines.unit))},
      {"max_price", machines.max_price ? std::to_string(*machines.max_price) + " %" : "-"},
      {"idle", SettingTimeText(machines.idle)},
      {"boot_limit", SettingTimeText(machines.boot_limit)},
      {"billed_at_least", SettingTimeText(machines.billed_at_least)},
      {"labels", LabelsText(machines.labels)},
      {"steps", LadderText(machines.steps)},
      {"disabled", YesNo(machines.disabled)},
      {"options", OrDash(Printable(machines.options))},
  };
}

std::vector<Field> FieldsOf(const Queue& queue) {
  return {
      {"priority", Thousands(queue.priority)}, {"share", Thousands(queue.share)},
      {"pools", NamesText(queue.pools)},       {"limits", LimitsText(queue.limits)},
      {"disabled", YesNo(queue.disabled)},
  };
}

// Both are fields of the same kind of thing.
void AddChanges(const std::vector<Field>& before, const std::vector<Field>& after,
                std::vector<FieldChange>& changes) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].text == after[i].text) continue;
    changes.push_back({before[i].name, before[i].text, after[i].text});
  }
}

template <typename T, typename Name>
const T* FindByName(const std::vector<T>& all, const std::string& name, Name name_of) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const T& one) { return name_of(one) == name; });
  return found == all.end() ? nullptr : &*found;
}

const std::string& NameOf(const PoolSettings& pool) { return pool.pool.name; }
const std::string& NameOf(const Queue& queue) { return queue.name; }

template <typename T>
const T* FindNow(const std::vector<T>& all, const std::string& name) {
  return FindByName(all, name, [](const T& one) -> const std::string& { return NameOf(one); });
}

std::optional<Step> PoolStep(const std::string& name, const PoolEntry& entry,
                             const PoolSettings* now) {
  Step step{.change = {now == nullptr ? Kind::kAdd : Kind::kChange, "pool", name, {}}};
  const PoolSettings before = now == nullptr ? PoolSettings{} : *now;
  const ContainerPolicy policy = entry.policy.value_or(before.pool.policy);
  if (now == nullptr || policy != before.pool.policy) step.policy = policy;
  if (entry.machines != before.machines) step.machines = entry.machines;
  if (!step.policy && !step.machines) return std::nullopt;
  AddChanges(FieldsOf(before.pool.policy), FieldsOf(policy), step.change.fields);
  AddChanges(FieldsOf(before.machines), FieldsOf(entry.machines), step.change.fields);
  return step;
}

std::optional<Step> QueueStep(const Queue& queue, const Queue* now) {
  if (now != nullptr && *now == queue) return std::nullopt;
  Step step{.change = {now == nullptr ? Kind::kAdd : Kind::kChange, "queue", queue.name, {}}};
  step.queue = queue;
  AddChanges(FieldsOf(now == nullptr ? Queue{} : *now), FieldsOf(queue), step.change.fields);
  return step;
}

Step Removal(const std::string& what, const std::string& name) {
  return {.change = {Kind::kRemove, what, name, {}}};
}

std::string MarkText(Kind kind, bool colours) {
  switch (kind) {
    case Kind::kAdd:
      return Paint(colours, Colour::kGreen, "+");
    case Kind::kChange:
      return Paint(colours, Colour::kYellow, "~");
    case Kind::kRemove:
      return Paint(colours, Colour::kRed, "-");
  }
  return "~";
}

}  // namespace

std::string ShapeText(const Resources& shape) {
  if (shape.millicpus == 0 && shape.memory_bytes == 0 && shape.devices.empty()) return "-";
  std::string out = CpusText(shape.millicpus) + (shape.millicpus == 1000 ? " cpu, " : " cpus, ") +
                    BytesText(shape.memory_bytes);
  if (!shape.devices.empty()) out += ", " + FormatDevices(shape.devices);
  return out;
}

std::string LimitsText(const QueueLimits& limits) {
  std::string out;
  const auto add = [&](const std::string& text) {
    out.append(out.empty() ? "" : ", ").append(text);
  };
  if (limits.machines) add(CountOf(*limits.machines, "machine"));
  if (limits.cost_an_hour) add(PriceText(*limits.cost_an_hour));
  if (limits.running) add(CountOf(*limits.running, "running item"));
  return OrDash(std::move(out));
}

std::string NamesText(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return OrDash(std::move(out));
}

std::vector<Step> StepsTo(const SettingsFile& file, const SettingsNow& now, bool prune) {
  std::vector<Step> steps;
  const auto add = [&](std::optional<Step> step) {
    if (step) steps.push_back(*std::move(step));
  };
  for (const auto& [name, entry] : file.pools) add(PoolStep(name, entry, FindNow(now.pools, name)));
  for (const auto& [name, queue] : file.queues) add(QueueStep(queue, FindNow(now.queues, name)));
  if (!prune) return steps;
  for (const Queue& queue : now.queues) {
    if (!file.queues.contains(queue.name)) add(Removal("queue", queue.name));
  }
  for (const PoolSettings& pool : now.pools) {
    const std::string& name = pool.pool.name;
    if (name != kDefaultPool && !file.pools.contains(name)) add(Removal("pool", name));
  }
  return steps;
}

std::optional<std::string> WhyNot(const SettingsFile& file, const SettingsNow& now, bool prune) {
  std::set<std::string> there{std::string(kDefaultPool)};
  for (const auto& [name, entry] : file.pools) there.insert(name);
  for (const PoolSettings& pool : now.pools) {
    if (!prune) there.insert(pool.pool.name);
  }
  for (const auto& [name, queue] : file.queues) {
    for (const std::string& pool : queue.pools) {
      if (there.contains(pool)) continue;
      const bool is_pruned = FindNow(now.pools, pool) != nullptr;
      return "queue " + name + " names pool " + pool +
             (is_pruned ? ", which --prune would remove; add it to the file"
                        : ", which is neither in the file nor on the server");
    }
  }
  return std::nullopt;
}

std::string StepsText(const std::vector<Step>& steps, std::size_t width, bool colours) {
  if (steps.empty()) return "";
  std::string out;
  std::int64_t added = 0;
  std::int64_t changed = 0;
  std::int64_t removed = 0;
  constexpr std::size_t kFieldWidth = 12;
  for (const auto& [change, policy, machines, queue] : steps) {
    added += change.kind == Kind::kAdd ? 1 : 0;
    changed += change.kind == Kind::kChange ? 1 : 0;
    removed += change.kind == Kind::kRemove ? 1 : 0;
    out += MarkText(change.kind, colours) + " " + change.what + " " + Printable(change.name) + "\n";
    for (const FieldChange& field : change.fields) {
      std::string line = "    " + field.field;
      line.resize(std::max(line.size() + 1, 4 + kFieldWidth), ' ');
      line += change.kind == Kind::kAdd ? field.after : field.before + " -> " + field.after;
      out += Clip(line, width) + "\n";
    }
  }
  out += Thousands(added) + " to add, " + Thousands(changed) + " to change, " + Thousands(removed) +
         " to remove\n";
  return out;
}

}  // namespace tidemill::cli
