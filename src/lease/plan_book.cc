// SPDX-License-Identifier: Apache-2.0
#include "lease/plan_book.h"

#include <algorithm>

namespace tidemill {
namespace {

// An agent's last items are not worth a round of syncs if they are over so soon.
constexpr double kShortTailMs = 2000;
// A server that has just started knows of no item how long it takes: it may be for days.
constexpr double kUnknownItemMs = 1e9;

std::int64_t Find(const auto& map, const auto& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

}  // namespace

// Items that run side by side.
std::int64_t PlanBook::SlotsOf(const Use& use, JobId job) {
  const std::int64_t owed = Find(use.owed, job);
  const auto limit = use.limits.find(job);
  return limit == use.limits.end() ? owed : std::min(owed, limit->second);
}

std::int64_t PlanBook::WaitingOf(const Use& use, JobId job) {
  return Find(use.owed, job) - SlotsOf(use, job);
}

std::int64_t PlanBook::WaitingOn(SessionId session, JobId job) const {
  const auto use = uses_.find(session);
  return use == uses_.end() ? 0 : WaitingOf(use->second, job);
}

std::map<JobId, std::int64_t> PlanBook::LimitsOf(SessionId session) const {
  const auto use = uses_.find(session);
  return use == uses_.end() ? std::map<JobId, std::int64_t>() : use->second.limits;
}

void PlanBook::GuessLimits(Use& use) const {
  use.limits = SideBySide(use.agent.shape, use.owed, needs_);
}

// Limits may come from several servers, and from before an agent began anew: what they add up to
// must fit, or slots count as used that nobody uses, and other machines get nothing.
void PlanBook::FitLimits(Use& use) const {
  std::map<JobId, std::int64_t> most;
  for (const auto& [job, owed] : use.owed) most[job] = SlotsOf(use, job);
  for (const auto& [job, slots] : SideBySide(use.agent.shape, most, needs_)) {
    if (slots < most.at(job)) use.limits[job] = slots;
  }
}

// What a machine has beyond the slots of the items that it holds. It may have begun none of them,
// and say that all is free: an engine that was away, an agent that was started anew.
Resources PlanBook::Unclaimed(const Use& use, const AgentRoom& room) const {
  Resources left = use.agent.shape;
  left.devices[kWholeMachine].count = 1;
  for (const auto& [job, owed] : use.owed) {
    const auto need = needs_.find(job);
    if (need == needs_.end() || room.resting.contains(job)) continue;
    const std::int64_t holds = room.holds ? Find(*room.holds, job) : owed;
    Take(left, need->second, std::min(SlotsOf(use, job), holds));
  }
  return left;
}

void PlanBook::Count(const Use& use, int sign) {
  for (const auto& [job, owed] : use.owed) {
    used_[{job, use.agent.pool}] += sign * SlotsOf(use, job);
  }
  for (const auto& [job, booked] : use.booked) booked_[{job, use.agent.pool}] += sign * booked;
}

void PlanBook::CountAll() {
  used_.clear();
  booked_.clear();
  for (const auto& [session, use] : uses_) Count(use, 1);
}

void PlanBook::UseAnswer(std::vector<SessionUse> uses, std::int64_t look) {
  std::erase_if(settled_, [look](const auto& entry) { return entry.second < look; });
  std::map<SessionId, Use> before = std::exchange(uses_, {});
  for (SessionUse& answer : uses) {
    if (settled_.contains(answer.session)) continue;
    Use& use = uses_[answer.session];
    use.agent = {answer.session, answer.project, answer.pool, {}, answer.shape};
    if (const auto known = before.find(answer.session); known != before.end()) {
      use = std::move(known->second);
      before.erase(known);
    }
    use.owed = std::move(answer.owed);
  }
  for (auto& [session, use] : before) {
    if (!settled_.contains(session)) use.owed.clear();
    // Else its exchange is under way.
    if (settled_.contains(session) || !use.booked.empty()) uses_[session] = std::move(use);
  }
}

void PlanBook::Set(PlanInForce plan, std::int64_t look, const Facts& facts) {
  in_force_ = true;
  slots_.clear();
  worn_.clear();
  reserved_.clear();
  for (const auto& [project, one] : plan.plans) {
    for (const PlanRow& row : one.rows) {
      slots_[{row.job, row.pool}] = row.slots;
      if (row.worn_slots > 0) worn_[row.job].insert(row.pool);
    }
    for (const Reservation& held : one.reserved) {
      reserved_.emplace(project + "/" + held.machine, held.job);
    }
  }
  UseAnswer(std::move(plan.uses), look);
  needs_.clear();
  for (const auto& [session, use] : uses_) {
    for (const auto* jobs : {&use.owed, &use.booked}) {
      for (const auto& [job, count] : *jobs) {
        if (needs_.contains(job)) continue;
        if (const auto known = facts(job)) needs_.emplace(job, known->need);
      }
    }
  }
  for (auto& [session, use] : uses_) {
    const bool has_all = std::all_of(use.owed.begin(), use.owed.end(), [&](const auto& entry) {
      return use.limits.contains(entry.first);
    });
    if (!IsHere(use) || !has_all) GuessLimits(use);
    FitLimits(use);
    std::erase_if(use.limits, [&](const auto& entry) { return !use.owed.contains(entry.first); });
  }
  CountAll();
  back_.clear();
  relimited_.clear();
  std::set<Row> rows;
  for (const auto& [row, used] : used_) rows.insert(row);
  for (const Row& row : rows) Balance(row, facts);
}

std::vector<PlanBook::Holder> PlanBook::HoldersOf(const Row& row) const {
  std::vector<Holder> holders;
  for (const auto& [session, use] : uses_) {
    if (use.agent.pool != row.second || !use.owed.contains(row.first)) continue;
    holders.push_back({session, SlotsOf(use, row.first), WaitingOf(use, row.first)});
  }
  return holders;
}

// - More of the job is in use than it may have: as many agents as hold the surplus get a lower
//   limit. What they have begun goes on; one that may run nothing gives the rest back.
// - Less is in use than it may have: agents that hold items that wait, and have room, run more of
//   them. If the job's last items still wait behind others, those that would wait longest go back,
//   for others to begin them.
void PlanBook::Balance(const Row& row, const Facts& facts) {
  const std::int64_t surplus = Find(used_, row) - Find(slots_, row);
  if (surplus > 0) TakeSurplus(row, surplus);
  for (const Holder& holder : HoldersOf(row)) {
    Use& use = uses_.at(holder.session);
    if (holder.waits > 0 && IsHere(use) && RaiseLimits(use, use.room)) {
      relimited_.insert(holder.session);
    }
    if (holder.waits > 0 && SlotsOf(use, row.first) == 0) AskBack(use, row.first);
  }
  const std::int64_t missing = Find(slots_, row) - Find(used_, row);
  const std::optional<JobFacts> known = facts(row.first);
  if (missing > 0 && known && !known->has_free) {
    SpreadTail(row, missing, known->item_ms.value_or(kUnknownItemMs));
  }
}

void PlanBook::TakeSurplus(const Row& row, std::int64_t surplus) {
  std::vector<Holder> holders = HoldersOf(row);
  // Those with nothing that waits make room by themselves.
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.waits < b.waits; });
  for (const Holder& holder : holders) {
    if (surplus <= 0) return;
    const std::int64_t taken = std::min(surplus, holder.slots);
    surplus -= taken;
    if (holder.waits == 0) continue;
    Use& use = uses_.at(holder.session);
    Count(use, -1);
    use.limits[row.first] = holder.slots - taken;
    Count(use, 1);
    relimited_.insert(holder.session);
  }
}

void PlanBook::SpreadTail(const Row& row, std::int64_t missing, double item_ms) {
  std::vector<Holder> holders = HoldersOf(row);
  std::stable_sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return a.waits * b.slots > b.waits * a.slots;
  });
  for (const Holder& holder : holders) {
    const double waits_ms = static_cast<double>(holder.waits) /
                            static_cast<double>(std::max<std::int64_t>(holder.slots, 1)) * item_ms;
    if (missing <= 0 || waits_ms < kShortTailMs) break;
    missing -= holder.waits;
    AskBack(uses_.at(holder.session), row.first);
  }
}

// Said again if it brought nothing: the answer may not have arrived. Not each time, as an agent may
// have begun all of it, and each answer brings another sync.
void PlanBook::AskBack(const Use& use, JobId job) {
  const auto said = use.said_back.find(job);
  if (said != use.said_back.end() && said->second.owed == Find(use.owed, job) &&
      look_ - said->second.look < kLooksBeforeAgain) {
    return;
  }
  back_[use.agent.session].push_back(job);
}

bool PlanBook::IsReservedForOthers(const AgentPlace& agent, JobId job) const {
  for (const std::string& id : {agent.machine, agent.pool + "/" + agent.machine}) {
    const auto held = reserved_.find(agent.project + "/" + id);
    if (held != reserved_.end() && held->second != job) return true;
  }
  return false;
}

PlanBook::Allowed PlanBook::AllowedBut(const AgentPlace& agent, JobId job, const Resources& need,
                                       const AgentRoom& room, std::int64_t booked) const {
  std::int64_t fit = SlotsIn(room.free, need);
  if (room.resting.contains(job)) return {};
  if (!in_force() || fit <= 0) return {std::max<std::int64_t>(fit, 0)};
  if (IsReservedForOthers(agent, job)) return {};
  std::int64_t counted = 0;
  std::int64_t holds = 0;
  if (const auto use = uses_.find(agent.session); use != uses_.end()) {
    counted = SlotsOf(use->second, job);
    holds = Find(use->second.owed, job);
    fit = std::min(fit, SlotsIn(Unclaimed(use->second, room), need));
  }
  if (room.holds) holds = Find(*room.holds, job);
  // What it has ended, or is about to end, makes way for as many of its own.
  const std::int64_t own = std::min(counted, holds);
  const Row row{job, agent.pool};
  const std::int64_t left = Find(slots_, row) - (Find(used_, row) - counted + own) - booked;
  const std::int64_t slots = std::min(fit, std::max<std::int64_t>(left, 0));
  return {slots, own + slots, holds};
}

PlanBook::Allowed PlanBook::AllowedFor(const AgentPlace& agent, JobId job, const Resources& need,
                                       const AgentRoom& room) const {
  return AllowedBut(agent, job, need, room, Find(booked_, Row{job, agent.pool}));
}

std::int64_t PlanBook::SlotsFor(const AgentPlace& agent, JobId job, const Resources& need,
                                const AgentRoom& room) const {
  return AllowedFor(agent, job, need, room).slots;
}

void PlanBook::RaiseLimits(const AgentPlace& agent, AgentRoom& room) {
  const auto use = uses_.find(agent.session);
  if (!in_force() || use == uses_.end()) return;
  RaiseLimits(use->second, room);
  use->second.room = room;
}

bool PlanBook::RaiseLimits(Use& use, AgentRoom& room) {
  bool raised = false;
  for (const auto& [job, owed] : use.owed) {
    const auto need = needs_.find(job);
    const std::int64_t waits = WaitingOf(use, job);
    if (waits <= 0 || need == needs_.end() || IsReservedForOthers(use.agent, job)) continue;
    const Row row{job, use.agent.pool};
    const std::int64_t left = Find(slots_, row) - Find(used_, row) - Find(booked_, row);
    const std::int64_t fit =
        std::min(SlotsIn(room.free, need->second), SlotsIn(Unclaimed(use, room), need->second));
    const std::int64_t more = std::min({waits, left, fit});
    if (more <= 0) continue;
    Count(use, -1);
    use.limits[job] = SlotsOf(use, job) + more;
    Count(use, 1);
    Take(room.free, need->second, more);
    raised = true;
  }
  return raised;
}

PlanBook::WornHere PlanBook::WornIn(const std::string& pool, JobId job) const {
  const auto found = worn_.find(job);
  if (found == worn_.end()) return WornHere::kAlso;
  return found->second.contains(pool) ? WornHere::kFirst : WornHere::kNot;
}

void PlanBook::NoteHeldBack(const AgentPlace& agent, JobId job, const Resources& need,
                            const AgentRoom& room) {
  held_back_ |= SlotsFor(agent, job, need, room) < AllowedBut(agent, job, need, room, 0).slots;
}

void PlanBook::Book(const AgentPlace& agent, JobId job, const Resources& need,
                    const Allowed& allowed) {
  if (!in_force()) return;
  needs_.try_emplace(job, need);
  Use& use = uses_.try_emplace(agent.session, Use{agent}).first->second;
  const std::int64_t more = std::max<std::int64_t>(*allowed.limit - SlotsOf(use, job), 0);
  use.booked[job] += more;
  use.asked[job] = {*allowed.limit, allowed.holds};
  booked_[{job, use.agent.pool}] += more;
}

void PlanBook::Unbook(SessionId session) {
  const auto found = uses_.find(session);
  if (found == uses_.end()) return;
  Count(found->second, -1);
  found->second.booked.clear();
  found->second.asked.clear();
  Count(found->second, 1);
}

void PlanBook::Settle(const AgentPlace& agent, const std::map<JobId, std::int64_t>& owed) {
  if (!in_force()) return;
  Use use{agent};
  if (const auto before = uses_.find(agent.session); before != uses_.end()) {
    use.limits = before->second.limits;
    use.room = before->second.room;
    use.said_back = std::move(before->second.said_back);
    // Of those that were asked for, the one that was granted.
    for (const auto& [job, asked] : before->second.asked) {
      if (Find(owed, job) > asked.holds || !use.limits.contains(job)) use.limits[job] = asked.limit;
    }
  }
  Forget(agent.session);
  settled_[agent.session] = look_;
  if (owed.empty()) return;
  use.owed = owed;
  use.synced = look_;
  const std::map<JobId, std::int64_t> guessed = SideBySide(agent.shape, owed, needs_);
  for (const auto& [job, slots] : guessed) use.limits.try_emplace(job, slots);
  std::erase_if(use.limits, [&](const auto& entry) { return !owed.contains(entry.first); });
  FitLimits(use);
  Count(uses_.emplace(agent.session, std::move(use)).first->second, 1);
}

void PlanBook::Forget(SessionId session) {
  const auto found = uses_.find(session);
  if (found == uses_.end()) return;
  Count(found->second, -1);
  uses_.erase(found);
}

std::vector<JobId> PlanBook::TakeBack(SessionId session) {
  const auto found = back_.find(session);
  if (found == back_.end()) return {};
  std::vector<JobId> jobs = std::move(found->second);
  back_.erase(found);
  if (const auto use = uses_.find(session); use != uses_.end()) {
    for (const JobId job : jobs) use->second.said_back[job] = {look_, Find(use->second.owed, job)};
  }
  return jobs;
}

std::vector<SessionId> PlanBook::ToBeTold() const {
  std::set<SessionId> sessions = relimited_;
  for (const auto& [session, jobs] : back_) sessions.insert(session);
  return {sessions.begin(), sessions.end()};
}

}  // namespace tidemill
