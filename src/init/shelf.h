// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "init/clocks.h"

namespace tidemill::init {

// An item of a loop that nobody has taken yet.
struct WaitingItem {
  std::uint64_t number = 0;  // the agent's
  std::uint64_t name = 0;    // the program's
  std::int64_t timeout_us = 0;
  std::int64_t grace_us = 0;
  bool alone = false;
  std::string json = {};
  std::string tag = {};
};

// One that the program has.
struct HeldItem {
  std::uint64_t number = 0;
  std::uint64_t name = 0;
  std::int64_t deadline_us = 0;
  std::int64_t grace_us = 0;
  bool alone = false;
  std::int64_t taken_us = 0;
  std::int64_t start_ms = 0;
  std::int64_t oom_kills = 0;  // of the container, when it was taken
  bool timed_out = false;
  bool stopped = false;
  std::string tag = {};
};

// When items are taken.
struct Moment {
  std::int64_t now_us = 0;
  std::int64_t wall_ms = 0;
  std::int64_t oom_kills = 0;
};

// The items of a loop: who waits, and who is held. No item is both, and no two that are held have
// one name. Pure.
class Shelf {
 public:
  // More than a batch, so that the next one is here when a program asks; and what a container may
  // make us remember.
  static constexpr std::size_t kItemsMost = 1024;
  static constexpr std::size_t kWaitingBytesMost = 8 * 1024 * 1024;

  // False: there is no room.
  bool Add(WaitingItem item);
  bool empty() const { return waiting_.empty() && held_.empty(); }
  bool anyone_waits() const { return !waiting_.empty(); }
  const std::vector<HeldItem>& held() const { return held_; }
  const std::deque<WaitingItem>& waiting() const { return waiting_; }

  // Whether the first that waits may be taken now.
  bool MayTake() const;
  // Hands over up to so many, as the elements of a JSON array.
  std::string Take(std::size_t most, const Moment& moment);
  // Of items that were taken, by their names: each once, or none is let go.
  std::optional<std::vector<HeldItem>> Release(const std::vector<std::uint64_t>& names);
  std::vector<HeldItem> ReleaseAll();
  std::optional<WaitingItem> DropFirst();
  // Nothing: it does not wait.
  std::optional<WaitingItem> Drop(std::uint64_t number);
  // Null: it is not held.
  HeldItem* Find(std::uint64_t number);
  const HeldItem* FindName(std::uint64_t name) const;
  // The first time at which one of those held has had its time; kNever: none.
  std::int64_t deadline_us() const;
  // Marks those that have had their time. The grace of the first of them.
  std::optional<std::int64_t> TimeOut(std::int64_t now_us);

 private:
  std::deque<WaitingItem> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<HeldItem> held_;  // in the order in which they were taken
};

}  // namespace tidemill::init
