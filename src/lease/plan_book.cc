// SPDX-License-Identifier: Apache-2.0
#include "lease/plan_book.h"

#include <algorithm>

namespace tidemill {
namespace {

// An agent's last items are not worth a round of syncs if they are over so soon.
constexpr double kShortTailMs = 2000;

Resources WithWhole(Resources shape) {
  shape.devices[kWholeMachine] = 1;
  return shape;
}

std::int64_t Find(const auto& map, const auto& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

}  // namespace

// Items that run side by side. Of a job that nobody knows what it needs, all that is owed.
std::int64_t PlanBook::SlotsOf(const Use& use, JobId job) const {
  const std::int64_t owed = Find(use.owed, job);
  const auto need = needs_.find(job);
  if (owed == 0 || need == needs_.end()) return owed;
  const std::int64_t fit = SlotsIn(WithWhole(use.agent.shape), need->second);
  return std::min(owed, std::max<std::int64_t>(fit, 1));
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
  for (SessionUse& use : uses) {
    if (settled_.contains(use.session)) continue;
    uses_[use.session] = {
        {use.session, use.project, use.pool, {}, use.shape}, std::move(use.owed), {}};
  }
  for (auto& [session, use] : before) {
    if (settled_.contains(session)) {
      uses_[session] = std::move(use);
    } else if (!use.booked.empty()) {
      // Its exchange is under way.
      Use& now = uses_.try_emplace(session, Use{use.agent, {}, {}}).first->second;
      now.booked = std::move(use.booked);
    }
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
  CountAll();
  back_.clear();
  std::set<Row> rows;
  for (const auto& [row, used] : used_) rows.insert(row);
  for (const Row& row : rows) AskBack(row, facts);
}

// Two reasons to ask items back that have not begun:
// - More of the job is in use than it may have: as many agents as hold the surplus. Their slots
//   come free as what runs ends, and nothing of the job is granted there until it has room again.
// - Less is in use than it may have, and nobody else can begin the job's last items because they
//   wait behind others: those that would wait longest.
void PlanBook::AskBack(const Row& row, const Facts& facts) {
  const JobId job = row.first;
  const std::int64_t used = Find(used_, row);
  const std::int64_t surplus = used - Find(slots_, row);
  const std::optional<JobFacts> known = facts(job);
  if (surplus == 0 || !known || (surplus < 0 && known->has_free)) return;
  struct Holder {
    SessionId session;
    std::int64_t slots = 0;
    std::int64_t waits = 0;  // not begun
  };
  std::vector<Holder> holders;
  for (const auto& [session, use] : uses_) {
    if (use.agent.pool != row.second || !use.owed.contains(job)) continue;
    const std::int64_t slots = SlotsOf(use, job);
    holders.push_back({session, slots, use.owed.at(job) - slots});
  }
  if (surplus > 0) {
    // Those with nothing to give back make room by themselves.
    std::stable_sort(holders.begin(), holders.end(),
                     [](const Holder& a, const Holder& b) { return a.waits < b.waits; });
    std::int64_t left = surplus;
    for (const Holder& holder : holders) {
      if (left <= 0) break;
      left -= holder.slots;
      if (holder.waits > 0) back_[holder.session].push_back(job);
    }
    return;
  }
  const double item_ms = known->item_ms.value_or(0);
  std::stable_sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return a.waits * b.slots > b.waits * a.slots;
  });
  std::int64_t missing = -surplus;
  for (const Holder& holder : holders) {
    const double waits_ms = static_cast<double>(holder.waits) /
                            static_cast<double>(std::max<std::int64_t>(holder.slots, 1)) * item_ms;
    if (missing <= 0 || waits_ms < kShortTailMs) break;
    missing -= holder.waits;
    back_[holder.session].push_back(job);
  }
}

PlanBook::Allowed PlanBook::AllowedBut(const AgentPlace& agent, JobId job, const Resources& need,
                                       const Resources& free, std::int64_t booked) const {
  const std::int64_t fit = SlotsIn(free, need);
  if (!in_force() || fit <= 0) return {fit, true};
  for (const std::string& id : {agent.machine, agent.pool + "/" + agent.machine}) {
    const auto held = reserved_.find(agent.project + "/" + id);
    if (held != reserved_.end() && held->second != job) return {};
  }
  const Row row{job, agent.pool};
  const std::int64_t whole = SlotsIn(WithWhole(agent.shape), need);
  std::int64_t own = 0;
  if (const auto use = uses_.find(agent.session); use != uses_.end()) {
    own = SlotsOf(use->second, job);
  }
  const std::int64_t left = Find(slots_, row) - Find(used_, row) - booked;
  if (left + own < whole) return {std::clamp<std::int64_t>(left, 0, fit), false};
  // What the agent holds and counts as free, because it is over soon, makes way for this.
  const std::int64_t makes_way = std::clamp<std::int64_t>(own + fit - whole, 0, own);
  return {std::clamp<std::int64_t>(left + makes_way, 0, fit), true};
}

PlanBook::Allowed PlanBook::AllowedFor(const AgentPlace& agent, JobId job, const Resources& need,
                                       const Resources& free) const {
  return AllowedBut(agent, job, need, free, Find(booked_, Row{job, agent.pool}));
}

std::int64_t PlanBook::SlotsFor(const AgentPlace& agent, JobId job, const Resources& need,
                                const Resources& free) const {
  return AllowedFor(agent, job, need, free).slots;
}

PlanBook::WornHere PlanBook::WornIn(const std::string& pool, JobId job) const {
  const auto found = worn_.find(job);
  if (found == worn_.end()) return WornHere::kAlso;
  return found->second.contains(pool) ? WornHere::kFirst : WornHere::kNot;
}

void PlanBook::NoteHeldBack(const AgentPlace& agent, JobId job, const Resources& need,
                            const Resources& free) {
  held_back_ |= SlotsFor(agent, job, need, free) < AllowedBut(agent, job, need, free, 0).slots;
}

void PlanBook::Book(const AgentPlace& agent, JobId job, const Resources& need, std::int64_t slots) {
  if (!in_force()) return;
  if (needs_.try_emplace(job, need).second) CountAll();
  Use& use = uses_.try_emplace(agent.session, Use{agent, {}, {}}).first->second;
  use.booked[job] += slots;
  booked_[{job, use.agent.pool}] += slots;
}

void PlanBook::Unbook(SessionId session) {
  const auto found = uses_.find(session);
  if (found == uses_.end()) return;
  Count(found->second, -1);
  found->second.booked.clear();
  Count(found->second, 1);
}

void PlanBook::Settle(const AgentPlace& agent, const std::map<JobId, std::int64_t>& owed) {
  if (!in_force()) return;
  Forget(agent.session);
  settled_[agent.session] = look_;
  if (owed.empty()) return;
  const Use& use = uses_.emplace(agent.session, Use{agent, owed, {}}).first->second;
  Count(use, 1);
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
  return jobs;
}

std::vector<SessionId> PlanBook::AskedBack() const {
  std::vector<SessionId> sessions;
  for (const auto& [session, jobs] : back_) sessions.push_back(session);
  return sessions;
}

}  // namespace tidemill
