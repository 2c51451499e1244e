// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "model/job.h"

namespace tidemill {

// The order of resources, so that equal ones can be brought together.
struct ResourcesLess {
  bool operator()(const Resources& a, const Resources& b) const;
};

// Room on the machines of some pools, and what is put into it. Machines that are alike are one
// bundle with a count, which is cut only as far as they become different: so the cost of putting
// something in grows with kinds of machines and of needs, not with items.
//
// What was begun is filled before what is empty, so that empty machines stay.
class PoolRoom {
 public:
  explicit PoolRoom(std::size_t pools);

  // `empty`: nothing is on them, so one item may have such a machine to itself.
  void Add(std::size_t pool, const Resources& free, bool empty, std::int64_t machines);

  // Equal needs are of one kind; the number is good for this room only.
  std::size_t KindOf(const Resources& need);

  struct Placed {
    std::int64_t slots = 0;
    Resources used{.millicpus = 0};  // by all of them; a whole machine uses all that it has
  };
  // Puts in as many as there is room for, at most `slots`.
  Placed Place(std::size_t pool, std::size_t kind, std::int64_t slots);

  // Machines of the pool on which something is.
  std::int64_t Touched(std::size_t pool) const;

 private:
  struct Bundle {
    Resources free;
    bool empty = false;
    std::int64_t count = 0;
    std::size_t next = 0;  // in the chain of its pool; 0: it is the last
  };
  struct Kind {
    Resources need;  // without kWholeMachine
    bool whole = false;
    // For each pool the bundle after which it looks on. Room only shrinks: what it did not fit
    // into, it never will.
    std::vector<std::size_t> after = {};
  };

  static std::int64_t SlotsOn(const Bundle& bundle, const Kind& kind);
  static Resources Fill(Bundle& bundle, const Kind& kind, std::int64_t slots);
  void InsertAfter(std::size_t at, Bundle bundle);

  std::size_t pools_;
  // The first `pools_` + 1 are no machines: bundle p + 1 is where the chain of pool p begins.
  std::vector<Bundle> bundles_;
  std::vector<std::size_t> last_;  // of each pool's chain
  std::vector<Kind> kinds_;
  std::map<Resources, std::size_t, ResourcesLess> numbers_;  // of kinds
};

}  // namespace tidemill
