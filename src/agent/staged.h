// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "agent/work.h"

namespace tidemill {

// Attempts that have been picked and whose inputs are fetched, or are here: they run next, in this
// order. A value: no clock, no I/O.
class Staged {
 public:
  void Add(const Need& need, const Attempt& attempt) { queues_[need].push_back({attempt, false}); }

  // Its inputs are here. False: it is not staged any more.
  bool MarkReady(const Attempt& attempt) {
    for (auto& [need, queue] : queues_) {
      for (Entry& entry : queue) {
        if (entry.attempt.place() == attempt.place()) return entry.ready = true;
      }
    }
    return false;
  }

  // The first of a need that can run.
  const Attempt* FirstReady(const Need& need) const {
    const auto queue = queues_.find(need);
    if (queue == queues_.end()) return nullptr;
    for (const Entry& entry : queue->second) {
      if (entry.ready) return &entry.attempt;
    }
    return nullptr;
  }

  int CountOf(const Need& need) const {
    const auto queue = queues_.find(need);
    return queue == queues_.end() ? 0 : static_cast<int>(queue->second.size());
  }
  std::vector<Need> Needs() const {
    std::vector<Need> needs;
    for (const auto& [need, queue] : queues_) needs.push_back(need);
    return needs;
  }

  // Takes those for which it is true.
  std::vector<Attempt> TakeIf(const std::function<bool(const Attempt&)>& is_wanted) {
    std::vector<Attempt> taken;
    for (auto& [need, queue] : queues_) {
      std::erase_if(queue, [&](const Entry& entry) {
        if (!is_wanted(entry.attempt)) return false;
        taken.push_back(entry.attempt);
        return true;
      });
    }
    std::erase_if(queues_, [](const auto& queue) { return queue.second.empty(); });
    return taken;
  }
  // False: it is not there.
  bool Take(const Attempt& attempt) {
    return !TakeIf([&](const Attempt& one) { return one.place() == attempt.place(); }).empty();
  }

 private:
  struct Entry {
    Attempt attempt;
    bool ready = false;
  };
  std::map<Need, std::deque<Entry>> queues_;  // none is empty
};

}  // namespace tidemill
