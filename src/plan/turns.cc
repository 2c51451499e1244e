// SPDX-License-Identifier: Apache-2.0
#include "plan/turns.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "plan/schedule.h"

namespace tidemill {
namespace {

constexpr double kTurn = 1.0 / 1024;
constexpr double kImpatientPart = 1.0 / 8;

}  // namespace

Turns::Turns(const SnapshotIndex& index, const std::vector<Claim>& claims, const Resources& total,
             TimePoint now)
    : index_(index),
      claims_(claims),
      now_(now),
      total_(total),
      queue_use_(index.snapshot().queues.size()),
      use_(claims.size()),
      slots_(claims.size()) {
  total_.devices.erase(kWholeMachine);
  for (const Claim& claim : claims) given_.emplace_back(claim.pools.size());
  Rank();
  Arrange();
}

// Whoever has the turn keeps it for kTurnTime, since to change costs a machine a moment; then comes
// who has run nothing for longest, and last of all who has run for longest.
void Turns::Rank() {
  std::vector<std::size_t> order(claims_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [this](std::size_t claim) {
    const PlanJob& job = index_.snapshot().jobs[claims_[claim].job];
    const bool runs = claims_[claim].running > 0;
    const int group = !runs ? 1 : now_ - job.runs_since < kTurnTime ? 0 : 2;
    const Duration since = runs ? now_ - job.runs_since : job.served - TimePoint{};
    return std::tuple(group, since, job.id, !claims_[claim].worn);
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  rank_.resize(claims_.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
}

void Turns::Arrange() {
  const Snapshot& snapshot = index_.snapshot();
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> owners;
  // Keys sort as they are served: shares before none, then the highest priority.
  std::map<std::pair<bool, std::int64_t>, std::map<std::size_t, std::map<std::int64_t, Band>>> tree;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    const PlanJob& job = snapshot.jobs[claims_[i].job];
    const tidemill::Queue& queue = snapshot.queues[claims_[i].queue];
    const std::size_t owner =
        owners.emplace(std::pair(claims_[i].queue, std::string_view(job.owner)), owners.size())
            .first->second;
    owner_of_.push_back(owner);
    Band& band = tree[{queue.share <= 0, -std::int64_t{queue.priority}}][claims_[i].queue]
                     [-std::int64_t{job.priority}];
    auto party = std::find_if(band.begin(), band.end(),
                              [owner](const Party& other) { return other.owner == owner; });
    if (party == band.end()) party = band.insert(party, {owner, {}});
    party->claims.push_back(i);
  }
  for (auto& [key, queues] : tree) {
    Level level;
    for (auto& [number, bands] : queues) {
      Queue queue{number, {}};
      for (auto& [priority, band] : bands) queue.bands.push_back(std::move(band));
      level.push_back(std::move(queue));
    }
    levels_.push_back(std::move(level));
  }
  owner_use_.resize(owners.size());
  owner_rank_.resize(owners.size(), claims_.size());
  queue_rank_.resize(snapshot.queues.size(), claims_.size());
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    std::size_t& of_owner = owner_rank_[owner_of_[i]];
    std::size_t& of_queue = queue_rank_[claims_[i].queue];
    of_owner = std::min(of_owner, rank_[i]);
    of_queue = std::min(of_queue, rank_[i]);
  }
}

Turns::Use Turns::UseOf(const Resources& resources) const {
  const auto part = [](std::int64_t used, std::int64_t all) {
    return used > 0 && all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 0.0;
  };
  Use use;
  use.parts = {part(resources.millicpus, total_.millicpus),
               part(resources.memory_bytes, total_.memory_bytes)};
  for (const auto& [kind, all] : total_.devices) {
    const auto found = resources.devices.find(kind);
    use.parts.push_back(found == resources.devices.end() ? 0
                                                         : part(found->second.count, all.count));
  }
  return use;
}

void Turns::Use::Add(const Use& other) {
  parts.resize(other.parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] += other.parts[i];
    most = std::max(most, parts[i]);
  }
}

bool Turns::IsBefore(std::size_t a, std::size_t b) const {
  return std::pair(use_[a].most, rank_[a]) < std::pair(use_[b].most, rank_[b]);
}

double Turns::Weighted(std::size_t queue) const {
  return queue_use_[queue].most / std::max(index_.snapshot().queues[queue].share, 1);
}

void Turns::ServeImpatient(PoolRoom& room, Caps& caps, TimePoint now) {
  std::vector<std::size_t> impatient;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    const PlanJob& job = index_.snapshot().jobs[claims_[i].job];
    if (claims_[i].running > 0 || claims_[i].waiting <= 0) continue;
    if (index_.snapshot().queues[claims_[i].queue].share <= 0) continue;
    if (now - job.served >= kPatience) impatient.push_back(i);
  }
  std::sort(impatient.begin(), impatient.end(),
            [this](std::size_t a, std::size_t b) { return rank_[a] < rank_[b]; });
  Use sum;
  for (const std::size_t claim : impatient) {
    if (sum.most >= kImpatientPart) break;
    if (Give(claim, 1, room, caps) > 0) sum.Add(use_[claim]);
  }
}

void Turns::Run(PoolRoom& room, Caps& caps, std::vector<std::int64_t> most) {
  left_ = std::move(most);
  for (const Level& level : levels_) TakeTurns(level, room, caps);
}

void Turns::TakeTurns(Level level, PoolRoom& room, Caps& caps) {
  while (!level.empty()) {
    const auto key = [this](const Queue& queue) {
      return std::pair(Weighted(queue.number), queue_rank_[queue.number]);
    };
    auto next = level.begin();
    for (auto it = level.begin(); it != level.end(); ++it) {
      if (key(*it) < key(*next)) next = it;
    }
    if (!TakeTurn(next->bands.front(), room, caps)) next->bands.erase(next->bands.begin());
    if (next->bands.empty()) level.erase(next);
  }
}

// False: nobody is left in the band.
bool Turns::TakeTurn(Band& band, PoolRoom& room, Caps& caps) {
  const auto key = [this](const Party& one) {
    return std::pair(owner_use_[one.owner].most, owner_rank_[one.owner]);
  };
  auto party = band.begin();
  for (auto it = band.begin(); it != band.end(); ++it) {
    if (key(*it) < key(*party)) party = it;
  }
  const auto claim =
      std::min_element(party->claims.begin(), party->claims.end(),
                       [this](std::size_t a, std::size_t b) { return IsBefore(a, b); });
  const std::int64_t asked = std::min(TurnSize(*claim), left_[*claim]);
  const std::int64_t got = asked > 0 ? Give(*claim, asked, room, caps) : 0;
  left_[*claim] -= got;
  // Room and limits only shrink: who got less than it asked for gets no more.
  if (got < asked || left_[*claim] <= 0) {
    party->claims.erase(claim);
    if (party->claims.empty()) band.erase(party);
  }
  return !band.empty();
}

std::int64_t Turns::TurnSize(std::size_t claim) const {
  if (slots_[claim] == 0) return 1;
  const double each = use_[claim].most / static_cast<double>(slots_[claim]);
  if (each * static_cast<double>(left_[claim]) <= kTurn) return left_[claim];
  return std::max<std::int64_t>(static_cast<std::int64_t>(kTurn / each), 1);
}

std::int64_t Turns::Give(std::size_t number, std::int64_t slots, PoolRoom& room, Caps& caps) {
  const Claim& claim = claims_[number];
  const std::size_t kind = room.KindOf(index_.snapshot().jobs[claim.job].need);
  std::int64_t got = 0;
  for (std::size_t i = 0; i < claim.pools.size() && got < slots; ++i) {
    const std::int64_t allowed = caps.Allow(claim, i, slots - got);
    if (allowed <= 0) continue;
    const PoolRoom::Placed placed = room.Place(claim.pools[i], kind, allowed);
    if (placed.slots == 0) continue;
    caps.Add(claim.job, claim.queue, claim.costs[i], placed.slots);
    given_[number][i] += placed.slots;
    got += placed.slots;
    const Use use = UseOf(placed.used);
    use_[number].Add(use);
    owner_use_[owner_of_[number]].Add(use);
    queue_use_[claim.queue].Add(use);
  }
  slots_[number] += got;
  return got;
}

}  // namespace tidemill
