// SPDX-License-Identifier: Apache-2.0
// Machines from their order to their end.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "base/planted.h"
#include "model/machine_name.h"
#include "store/memory/memory_store.h"

namespace tidemill {
namespace {

// See JobRow::served_us.
constexpr std::int64_t kServedEveryUs = 60'000'000;

}  // namespace

// One SeeMachines, step by step in the order in which they are called.
class MemoryStore::MachineWatch {
 public:
  explicit MachineWatch(MemoryStore& store) : store_(store), now_(store.Now()) {}

  // One that its provider has was made, also if it has joined or ended since.
  void Made(const ProviderSight& sight) {
    MachineRow* const row = Ordered(sight);
    if (row == nullptr) return;
    if (!sight.id.empty()) row->provider_id = sight.id;
    if (row->billed_from != TimePoint{}) return;
    row->billed_from = row->put_down_until = sight.since;
    if (row->state == MachineState::kOrdered) Enter(*row, MachineState::kBooting, now_);
  }

  // Drained and started again it is a new one: a machine never goes back.
  void StrangersGone() {
    for (auto& [key, row] : store_.machine_rows_) {
      if (row.ordered || row.state == MachineState::kGone) continue;
      const SessionRow* const live = LiveOf(key, row);
      const bool drains = row.state == MachineState::kDraining;
      if (live != nullptr && (!drains || live->session.id == row.session)) continue;
      Enter(row, MachineState::kGone, std::max(EndOf(row), row.put_down_until));
    }
  }

  void Joined() {
    for (auto& [key, row] : store_.machine_rows_) {
      const SessionRow* const live = LiveOf(key, row);
      if (live == nullptr || row.state == MachineState::kGone) continue;
      const MachineState state = StateBy(*live);
      if (row.session == live->session.id && row.state >= state) continue;
      row.session = live->session.id;
      if (!row.joined) row.joined = JoinedAt(*live);
      if (row.state < state) Enter(row, state, now_);
      store_.pool_marks_[{key.project, key.pool}].never_joined = 0;
    }
  }

  void Ended(const ProviderSight& sight) {
    MachineRow* const row = Ordered(sight);
    if (row == nullptr || !sight.ended) return;
    Enter(*row, MachineState::kGone, std::max(*sight.ended, row->put_down_until + Duration(1)));
    if (!row->joined) CountNeverJoined(sight.key);
  }

  void Missing(const ProviderLook& look) {
    std::set<MachineKey> seen;
    for (const ProviderSight& sight : look.seen) seen.insert(sight.key);
    for (auto& [key, row] : store_.machine_rows_) {
      if (!row.ordered || row.state == MachineState::kGone) continue;
      // Of one that was to end, a session is what nobody has reaped yet.
      const bool lives = !row.ending && LiveOf(key, row) != nullptr;
      if (seen.contains(key) || lives) {
        row.missing_since.reset();
      } else if (!look.listed.contains({key.project, key.pool})) {
        continue;
      } else if (!row.missing_since) {
        row.missing_since = now_;
      } else if (*row.missing_since <= now_ - kMissingTime) {
        LeaveUnseen(key, row);
      }
    }
  }

  // An ordered machine that has ended may leave a session for a while, which is no new machine.
  void Strangers() {
    const std::unordered_set<SessionId> there = SessionsOfMachines();
    std::optional<std::set<NameView>> known;
    for (const auto& [name, sessions] : store_.sessions_.places()) {
      const SessionRow* const live = Newest(sessions);
      if (live == nullptr || there.contains(live->session.id)) continue;
      if (!known) known = KnownNames();
      if (known->contains(name)) continue;
      const auto& [project, pool, machine] = name;
      const auto found = store_.pools_.find({project, pool});
      if (found == store_.pools_.end()) continue;
      MachineRow& row = store_.machine_rows_[{project, pool, NextStranger(project, pool)}];
      row.name = machine;
      Enter(row, StateBy(*live), now_);
      row.price = store_.SettingsOf(found->second).machines.price;
      row.billed_from = row.put_down_until = JoinedAt(*live);
      row.joined = JoinedAt(*live);
      row.session = live->session.id;
    }
  }

  // An agent that was made anew on a machine that drains, or is about to be ended, drains too.
  void DrainAgain() {
    for (auto& [key, row] : store_.machine_rows_) {
      if (!row.IsLeaving()) continue;
      SessionRow* const live = store_.sessions_.FindLive(row.session);
      if (live != nullptr) live->session.state = SessionState::kDraining;
    }
  }

  void Idle() {
    for (auto& [key, row] : store_.machine_rows_) {
      if (row.state != MachineState::kJoined && row.state != MachineState::kDraining) continue;
      const bool others_work = !store_.leases_.sessions().empty();
      if (Planted(Plant::kIdleReset) && others_work) row.idle_since = now_;
      if (store_.HasLease(row.session)) {
        row.idle_since.reset();
      } else if (!row.idle_since) {
        row.idle_since = EndOf(row);
      }
    }
  }

  void Served() {
    const std::int64_t now_us = store_.clock_us_();
    for (const auto& [job, leases] : store_.leases_.jobs()) {
      JobRow& row = store_.jobs_.at(job);
      if (row.served_us < now_us - kServedEveryUs) row.served_us = now_us;
    }
  }

 private:
  void CountNeverJoined(const MachineKey& key) {
    PoolMarks& marks = store_.pool_marks_[{key.project, key.pool}];
    ++marks.never_joined;
    marks.never_joined_at = now_;
  }
  void LeaveUnseen(const MachineKey& key, MachineRow& row) {
    if (row.billed_from == TimePoint{}) {  // it was not made
      Enter(row, MachineState::kGone, now_);
      row.put_down_until = now_;
      return;
    }
    Enter(row, MachineState::kGone, std::max(*row.missing_since, row.put_down_until + Duration(1)));
    if (!row.joined) CountNeverJoined(key);
  }

  using NameView = std::tuple<std::string_view, std::string_view, std::string_view>;

  // Of machines that are there. Those who live have been heard of by now: see Joined.
  std::unordered_set<SessionId> SessionsOfMachines() const {
    std::unordered_set<SessionId> sessions;
    for (const auto& [key, row] : store_.machine_rows_) {
      if (row.state != MachineState::kGone) sessions.insert(row.session);
    }
    return sessions;
  }
  std::set<NameView> KnownNames() const {
    std::set<NameView> names;
    for (const auto& [key, row] : store_.machine_rows_) {
      const bool is_known = row.ordered || row.state != MachineState::kGone;
      if (is_known) names.insert({key.project, key.pool, row.name});
    }
    return names;
  }
  // Below all numbers of the pool, and below 0.
  std::int64_t NextStranger(const std::string& project, const std::string& pool) const {
    const auto first =
        store_.machine_rows_.lower_bound({project, pool, std::numeric_limits<std::int64_t>::min()});
    if (first == store_.machine_rows_.end()) return -1;
    const MachineKey& key = first->first;
    const bool is_its = key.project == project && key.pool == pool;
    return is_its ? std::min<std::int64_t>(key.number, 0) - 1 : -1;
  }
  static void Enter(MachineRow& row, MachineState state, TimePoint at) {
    row.state = state;
    row.since = at;
  }
  static TimePoint JoinedAt(const SessionRow& row) { return TimePoint(Duration(row.joined_us)); }
  static MachineState StateBy(const SessionRow& row) {
    return row.session.state == SessionState::kAlive ? MachineState::kJoined
                                                     : MachineState::kDraining;
  }
  MachineRow* Ordered(const ProviderSight& sight) {
    const auto found = store_.machine_rows_.find(sight.key);
    if (found == store_.machine_rows_.end() || !found->second.ordered) return nullptr;
    return found->second.state == MachineState::kGone ? nullptr : &found->second;
  }
  // Of two of a machine the one that was joined over has no token.
  static const SessionRow* Newest(const SessionTable::Live& sessions) {
    const SessionRow* newest = nullptr;
    for (const auto& [id, row] : sessions) {
      if (!row->token.empty()) newest = row;
    }
    return newest;
  }
  const SessionRow* LiveOf(const MachineKey& key, const MachineRow& row) const {
    return Newest(store_.sessions_.LiveOn(key.project, key.pool, row.name));
  }
  // When its session ended; now, if that is not known.
  TimePoint EndOf(const MachineRow& row) const {
    const SessionRow* const found = store_.sessions_.Find(row.session);
    const bool dead = found != nullptr && found->session.state == SessionState::kDead;
    return dead ? TimePoint(Duration(found->dead_us)) : now_;
  }

  MemoryStore& store_;
  const TimePoint now_;
};

Result<void> MemoryStore::SeeMachines(const ProviderLook& look) {
  const std::lock_guard lock(mutex_);
  MachineWatch watch(*this);
  for (const ProviderSight& sight : look.seen) watch.Made(sight);
  watch.StrangersGone();
  watch.Joined();
  for (const ProviderSight& sight : look.seen) watch.Ended(sight);
  watch.Missing(look);
  watch.Strangers();
  watch.DrainAgain();
  watch.Idle();
  watch.Served();
  return {};
}

Result<std::optional<std::string>> MemoryStore::FindMachineById(const std::string& project,
                                                                const std::string& pool,
                                                                const std::string& id) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, row] : machine_rows_) {
    const bool is_there = key.project == project && key.pool == pool &&
                          row.state != MachineState::kGone && row.provider_id == id;
    if (is_there && !id.empty()) return row.name;
  }
  return std::nullopt;
}

Result<std::vector<MachineKey>> MemoryStore::OrderMachines(const std::string& project,
                                                           const std::string& pool,
                                                           std::int64_t first, std::int64_t count,
                                                           Money price) {
  const std::lock_guard lock(mutex_);
  std::vector<MachineKey> made;
  if (!pools_.contains({project, pool})) return made;
  std::set<std::string> names;
  for (const auto& [key, row] : machine_rows_) {
    const bool here = key.project == project && key.pool == pool;
    if (here && row.state != MachineState::kGone) names.insert(row.name);
  }
  std::int64_t& next = pool_marks_[{project, pool}].next_number;
  if (Planted(Plant::kRelativeOrders)) first = next;
  for (std::int64_t number = std::max(first, next); number < first + count; ++number) {
    const std::string name = MachineName(pool, number);
    if (names.contains(name)) continue;
    made.push_back({project, pool, number});
    machine_rows_[made.back()] = {.name = name, .since = Now(), .price = price, .ordered = true};
  }
  next = std::max(next, first + count);
  return made;
}

Result<void> MemoryStore::DrainMachine(const MachineKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = machine_rows_.find(key);
  if (found == machine_rows_.end() || found->second.state != MachineState::kJoined) return {};
  found->second.state = MachineState::kDraining;
  found->second.since = Now();
  SessionRow* const live = sessions_.FindLive(found->second.session);
  if (live != nullptr) live->session.state = SessionState::kDraining;
  return {};
}

Result<bool> MemoryStore::EndMachine(const MachineKey& key, MachineState seen) {
  const std::lock_guard lock(mutex_);
  const auto found = machine_rows_.find(key);
  if (found == machine_rows_.end() || found->second.state != seen) return false;
  if (seen == MachineState::kGone) return false;
  // One that has joined meanwhile is no longer as it was seen, whatever its row says.
  for (const auto& [id, row] : sessions_.LiveOn(key.project, key.pool, found->second.name)) {
    if (seen < MachineState::kJoined || HasLease(id)) return false;
  }
  found->second.ending = true;
  return true;
}

Result<void> MemoryStore::DropOrder(const MachineKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = machine_rows_.find(key);
  if (found == machine_rows_.end()) return {};
  MachineRow& row = found->second;
  if (row.state != MachineState::kOrdered || row.billed_from != TimePoint{}) return {};
  row.state = MachineState::kGone;
  row.since = row.put_down_until = Now();
  return {};
}

Result<void> MemoryStore::SetProviderWord(const std::string& project, const std::string& pool,
                                          const ProviderWord& word) {
  const std::lock_guard lock(mutex_);
  if (pools_.contains({project, pool})) pool_marks_[{project, pool}].word = word;
  return {};
}

Result<void> MemoryStore::ForgiveNeverJoined(const std::string& project, const std::string& pool) {
  const std::lock_guard lock(mutex_);
  if (!pools_.contains({project, pool})) return {};
  PoolMarks& marks = pool_marks_[{project, pool}];
  marks.never_joined = 0;
  marks.word = {};
  return {};
}

}  // namespace tidemill
