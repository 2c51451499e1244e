// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/sight.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tidemill {
namespace {

constexpr std::string_view kEnds[] = {"delete",
                                      "stop",
                                      "compute.instances.preempted",
                                      "compute.instances.guestTerminate",
                                      "compute.instances.hostError",
                                      "compute.instances.terminateOnHostMaintenance"};

bool IsGood(const GcpOperation& operation) { return operation.done && operation.faults.empty(); }

bool IsEnd(const GcpOperation& operation) {
  return IsGood(operation) &&
         std::find(std::begin(kEnds), std::end(kEnds), operation.type) != std::end(kEnds);
}

// It is not billed as a machine any more, and does not come back by itself.
bool HasStopped(const GcpInstance& instance) {
  return instance.status == "TERMINATED" || instance.status == "STOPPED" ||
         instance.status == "SUSPENDED";
}

bool IsLeaving(const ManagedInstance& managed) { return managed.action == "DELETING"; }

// The first end after `since`.
std::optional<TimePoint> EndOf(const std::vector<GcpOperation>& history,
                               const std::string& instance, TimePoint since) {
  std::optional<TimePoint> first;
  for (const GcpOperation& operation : history) {
    if (operation.target != instance || !IsEnd(operation) || operation.ended < since) continue;
    if (!first || operation.ended < *first) first = operation.ended;
  }
  return first;
}

// When it was made; nothing if that is not in the history.
std::optional<TimePoint> MadeAt(const std::vector<GcpOperation>& history,
                                const std::string& instance) {
  std::optional<TimePoint> first;
  for (const GcpOperation& operation : history) {
    if (operation.target != instance || operation.type != "insert" || !IsGood(operation)) continue;
    if (!first || operation.begun < *first) first = operation.begun;
  }
  return first;
}

void SetEnd(ListedAt& machine, std::optional<TimePoint> ended, TimePoint now) {
  machine.ended = std::max(machine.since, std::min(ended.value_or(now), now));
}

// The machines that ended before this process looked.
void Recall(PoolMemory& memory, const GcpNames& names, const GroupView& view,
            const std::vector<GcpOperation>& history, TimePoint now) {
  const TimePoint oldest = now - kEndsKept;
  std::map<std::string, TimePoint> there;
  for (const GcpInstance& instance : view.instances) there[instance.name] = instance.since;
  for (const GcpOperation& operation : history) {
    if (!IsEnd(operation) || operation.ended < oldest) continue;
    const auto machine = names.MachineOf(operation.target);
    const auto found = there.find(operation.target);
    // What happened to an instance that is still there is told by its state.
    const bool is_this_life = found != there.end() && operation.ended >= found->second;
    if (!machine || is_this_life || memory.machines.contains(*machine)) continue;
    const auto since = MadeAt(history, operation.target);
    const auto ended = EndOf(history, operation.target, std::max(since.value_or(oldest), oldest));
    ListedAt known{*machine, since.value_or(ended.value_or(operation.ended)), {}, operation.target};
    SetEnd(known, ended, now);
    memory.machines.emplace(*machine, std::move(known));
  }
}

// Machines that their group still counts as running: if the list of instances lacks one, it is
// late, and nothing has ended.
std::set<std::string> Running(const GroupView& view) {
  std::set<std::string> running;
  for (const ManagedInstance& managed : view.managed) {
    if (!managed.status.empty() && !IsLeaving(managed)) running.insert(managed.name);
  }
  return running;
}

void NoticeInstance(PoolMemory& memory, const std::string& name, const GcpInstance& instance,
                    const std::vector<GcpOperation>& history, TimePoint now) {
  const auto [found, is_new] = memory.machines.try_emplace(
      name, ListedAt{name, instance.since, std::nullopt, instance.name});
  ListedAt& machine = found->second;
  if (machine.ended) return;
  const bool is_made_anew = instance.since > machine.since;
  if (!is_made_anew && !HasStopped(instance)) return;
  const auto end = EndOf(history, instance.name, machine.since);
  SetEnd(machine, !is_made_anew && instance.stopped ? instance.stopped : end, now);
}

std::vector<std::string> NoticeStrangers(PoolMemory& memory, const GcpNames& names,
                                         const GroupView& view, const NoticeRules& rules) {
  std::vector<std::string> old;
  std::map<std::string, TimePoint> strangers;
  if (!rules.owned) return old;
  for (const ManagedInstance& managed : view.managed) {
    if (names.MachineOf(managed.name)) continue;
    const auto known = memory.strangers.find(managed.name);
    const TimePoint first = known == memory.strangers.end() ? rules.now : known->second;
    strangers[managed.name] = first;
    if (rules.now - first >= kStrangersMay && !IsLeaving(managed)) old.push_back(managed.name);
  }
  memory.strangers = std::move(strangers);
  return old;
}

}  // namespace

bool NeedsHistory(const PoolMemory& memory, const GcpNames& names, const GroupView& view) {
  if (!memory.has_history) return true;
  std::map<std::string, const GcpInstance*> there;
  for (const GcpInstance& instance : view.instances) {
    if (const auto machine = names.MachineOf(instance.name)) there[*machine] = &instance;
  }
  return std::any_of(memory.machines.begin(), memory.machines.end(), [&](const auto& known) {
    if (known.second.ended) return false;
    const auto found = there.find(known.first);
    return found == there.end() || found->second->since > known.second.since ||
           HasStopped(*found->second);
  });
}

std::vector<std::string> Notice(PoolMemory& memory, const GcpNames& names, const GroupView& view,
                                const std::vector<GcpOperation>& history,
                                const NoticeRules& rules) {
  if (!memory.has_history) Recall(memory, names, view, history, rules.now);
  memory.has_history = true;
  std::set<std::string> there;
  for (const GcpInstance& instance : view.instances) {
    const auto machine = names.MachineOf(instance.name);
    if (!machine) continue;
    there.insert(*machine);
    NoticeInstance(memory, *machine, instance, history, rules.now);
  }
  const std::set<std::string> running = Running(view);
  for (auto& [name, machine] : memory.machines) {
    if (machine.ended || there.contains(name) || running.contains(machine.id)) continue;
    SetEnd(machine, EndOf(history, machine.id, machine.since), rules.now);
  }
  std::vector<std::string> away = NoticeStrangers(memory, names, view, rules);
  for (const ManagedInstance& managed : view.managed) {
    const auto machine = names.MachineOf(managed.name);
    if (!machine) continue;
    const auto known = memory.machines.find(*machine);
    const bool has_ended = known != memory.machines.end() && known->second.ended.has_value();
    if (has_ended && !IsLeaving(managed)) away.push_back(managed.name);
    if (has_ended) there.insert(*machine);
  }
  std::erase_if(memory.machines, [&](const auto& known) {
    return known.second.ended && *known.second.ended < rules.now - kEndsKept &&
           !there.contains(known.first);
  });
  return away;
}

}  // namespace tidemill
