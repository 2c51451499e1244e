// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/caps.h"
#include "plan/claims.h"
#include "plan/pool_room.h"

namespace tidemill {

// Gives room out in turns: whoever is furthest behind its share is next. One turn gives what raises
// a claim by at most 1/1024 of all machines, or one slot; the first turn of a claim gives one slot,
// so that all have one before anybody has two. So nobody is further from its share than that, and
// turns are bounded by claims and 1024 times the kinds of resources, however many slots there are.
class Turns {
 public:
  // `total`: of all machines that are shared.
  Turns(const SnapshotIndex& index, const std::vector<Claim>& claims, const Resources& total,
        TimePoint now);

  // One slot for each claim that has lost its patience, until they have an eighth of all.
  void ServeImpatient(PoolRoom& room, Caps& caps, TimePoint now);
  // All that there is room for. `most`: of each claim, on top of what it has.
  void Run(PoolRoom& room, Caps& caps, std::vector<std::int64_t> most);

  // Slots that a claim has got, in each of its pools.
  const std::vector<std::int64_t>& Given(std::size_t claim) const { return given_[claim]; }

 private:
  // Parts of all machines, for each kind of resource, and the largest of them.
  struct Use {
    std::vector<double> parts;
    double most = 0;
    void Add(const Use& other);
  };
  // The claims of one owner among the jobs of one priority, and those of one priority.
  struct Party {
    std::size_t owner = 0;
    std::vector<std::size_t> claims;
  };
  using Band = std::vector<Party>;
  struct Queue {
    std::size_t number = 0;
    std::vector<Band> bands;  // the highest priority first
  };
  using Level = std::vector<Queue>;

  void Rank();
  void Arrange();
  Use UseOf(const Resources& resources) const;
  bool IsBefore(std::size_t a, std::size_t b) const;
  double Weighted(std::size_t queue) const;
  void TakeTurns(Level level, PoolRoom& room, Caps& caps);
  bool TakeTurn(Band& band, PoolRoom& room, Caps& caps);
  std::int64_t TurnSize(std::size_t claim) const;
  // How many it got.
  std::int64_t Give(std::size_t claim, std::int64_t slots, PoolRoom& room, Caps& caps);

  const SnapshotIndex& index_;
  const std::vector<Claim>& claims_;
  const TimePoint now_;
  Resources total_;
  std::vector<Level> levels_;            // the first is served first
  std::vector<std::size_t> rank_;        // among equals the lowest is first
  std::vector<std::size_t> queue_rank_;  // of its first claim
  std::vector<std::size_t> owner_rank_;
  std::vector<std::size_t> owner_of_;
  std::vector<Use> queue_use_;
  std::vector<Use> owner_use_;  // an owner in two queues is two
  std::vector<Use> use_;
  std::vector<std::vector<std::int64_t>> given_;
  std::vector<std::int64_t> slots_;  // the sum of `given_`
  std::vector<std::int64_t> left_;   // that it may still get
};

}  // namespace tidemill
